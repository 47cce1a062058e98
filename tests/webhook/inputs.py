"""The inputs of the golden cases."""

from functools import cache

from intent.lws import Intent
from tests.golden.test_golden import CASES, leaderworkersets
from webhook.state import Fresh, state


@cache
def intents() -> tuple[Intent, ...]:
    """Return the Intent of each golden object that is expanded."""
    states = (state(one.object) for case in CASES for one in leaderworkersets(case))
    return tuple(found.intent for found in states if isinstance(found, Fresh))
