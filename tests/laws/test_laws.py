"""The laws hold for the engine, and each of them detects an engine that breaks it."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from intent import Object
from tests.laws import laws
from tests.laws.laws import Engine
from tests.laws.strategies import leaderworkersets
from webhook.expand import expand
from webhook.overlay.patch import Operation, patch

Law = Callable[..., bool]
SHARE: Final = 0.6
"""The share of examples that must have a patch, so that a law is not vacuous."""

LAWS: Final[dict[Law, st.SearchStrategy[Any]]] = {
    laws.idempotent: leaderworkersets(),
    laws.patches_as_merged: leaderworkersets(),
    laws.spares: leaderworkersets(),
    laws.leaves_arguments: leaderworkersets(),
}


ALL: Final = bounded(suppress_health_check=list(HealthCheck))
"""As many examples as the profile says; a failing one is shrunk."""
ENOUGH: Final = bounded(ALL, max_examples=60, phases=(Phase.generate,))
"""Enough examples to find a broken engine, in every profile. The example found is not shrunk."""


def hold(law: Law, engine: Engine, bounds: bounded = ALL) -> Counter[bool]:
    """Try a law on many examples; return how many carried a patch and how many did not."""
    seen: Counter[bool] = Counter()

    @bounds
    @given(st.data())
    def run(data: st.DataObject) -> None:
        seen[law(engine, data.draw(LAWS[law]))] += 1

    run()
    return seen


@pytest.mark.hypothesis
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_law_holds_on_enough_patched_examples(law: Law) -> None:
    seen = hold(law, Engine())

    assert seen[True] >= SHARE * seen.total()


def wraps_again(live: Object, old: Object | None, *rest: Any) -> list[Operation]:
    """Add one more argument each time."""
    note = live["metadata"]["annotations"].get("again", "")
    return [
        *expand(live, old, *rest),
        {"op": "add", "path": "/metadata/annotations/again", "value": note + "x"},
    ]


def drops_a_label(live: Object, old: Object | None, *rest: Any) -> list[Operation]:
    """Remove a label of the author."""
    lost = [{"op": "remove", "path": "/spec/x-unknown"}] if "x-unknown" in live["spec"] else []
    return [*expand(live, old, *rest), *lost]


def changes_its_argument(live: Object, old: Object | None, *rest: Any) -> list[Operation]:
    """Change the argument instead of returning a patch."""
    operations = expand(live, old, *rest)
    live["spec"].pop("x-unknown", None)
    return operations


def adds_in_front(live: Object, wanted: Object) -> list[Operation]:
    """Prepend to every list."""
    return [operation | {"path": operation["path"].replace("/-", "/0")} for operation in patch(live, wanted)]


BROKEN: Final[dict[Law, Engine]] = {
    laws.idempotent: Engine(expand=wraps_again),
    laws.patches_as_merged: Engine(patch=adds_in_front),
    laws.spares: Engine(expand=drops_a_label),
    laws.leaves_arguments: Engine(expand=changes_its_argument),
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_law_detects_a_broken_engine(law: Law) -> None:
    with pytest.raises((AssertionError, KeyError)):
        hold(law, BROKEN[law], ENOUGH)
