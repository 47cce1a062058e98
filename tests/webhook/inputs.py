"""The inputs of the golden cases."""

from collections.abc import Iterator
from typing import Final

from intent.lws import Intent
from tests.golden.test_golden import CASES, leaderworkersets
from webhook.state import Fresh, state


def intents() -> Iterator[Intent]:
    """Yield the Intent of each golden object that is expanded."""
    for case in CASES:
        for document in leaderworkersets(case):
            found = state(document.object)
            if isinstance(found, Fresh):
                yield found.intent


INTENTS: Final = tuple(intents())
