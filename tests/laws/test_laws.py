"""The laws hold for the engine, and each of them catches the engine that breaks it."""

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from intent import Object
from tests.laws import laws
from tests.laws.laws import TEST_MUTATORS, Engine, Mutator
from tests.laws.strategies import JSON, leaderworkersets
from webhook import review
from webhook.expand import expand
from webhook.mutate import MUTATORS
from webhook.overlay.overlay import Overlay
from webhook.overlay.patch import Operation, patch
from webhook.request import read as read_review
from webhook.study import Study, study

Law = Callable[..., bool]
SHARE: Final = 0.6
"""How many of the examples must carry a patch, for a law to have said anything."""

ANY_JSON: Final = JSON.filter(lambda value: isinstance(value, dict)) | leaderworkersets()
MORE: Final[dict[Law, Callable[[st.DataObject], Any]]] = {
    laws.converges: lambda data: data,
    laws.resizes: lambda data: data.draw(st.integers(1, 4)),
    laws.takes_off: lambda data: data,
}
"""What a law takes beside the engine and an example."""
LAWS: Final[dict[Law, st.SearchStrategy[Any]]] = {
    laws.idempotent: leaderworkersets(),
    laws.converges: leaderworkersets(),
    laws.carries_on: leaderworkersets(),
    laws.withdraws: leaderworkersets(),
    laws.resizes: leaderworkersets(),
    laws.takes_off: leaderworkersets(),
    laws.patches_as_merged: leaderworkersets(),
    laws.spares: leaderworkersets(),
    laws.answers: ANY_JSON,
    laws.leaves_arguments: leaderworkersets(),
}


def hold(law: Law, engine: Engine, examples: int = 120) -> Counter[bool]:
    """Try a law on many examples; count those that carried a patch."""
    seen: Counter[bool] = Counter()

    @bounded(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        example = data.draw(LAWS[law])
        extra = (MORE[law](data),) if law in MORE else ()
        seen[law(engine, example, *extra)] += 1

    run()
    return seen


@pytest.mark.parametrize("mutators", [TEST_MUTATORS, MUTATORS], ids=["for any mutators", "for ours"])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_law_holds_and_says_something(law: Law, mutators: tuple[Mutator, ...]) -> None:
    seen = hold(law, Engine(mutators=mutators))

    assert seen[True] >= SHARE * seen.total()


def always_as_new(live: Object, _old: Object | None, *rest: Any) -> list[Operation]:
    """Forget the record: what was put on is taken for the author's."""
    forgetful = copy.deepcopy(live)
    forgetful["metadata"].get("annotations", {}).pop("fusioninfer.io/expansion", None)
    return expand(forgetful, None, *rest)


def keeps_when_withdrawn(live: Object, old: Object | None, *rest: Any) -> list[Operation]:
    """Leave our part on when the opt-in is gone."""
    opted_in = "fusioninfer.io/service" in live["metadata"]["annotations"]
    return expand(live, old, *rest) if opted_in else []


def keeps_what_it_put_on(live: Object, old: Object | None, *rest: Any) -> list[Operation]:
    """Expand new objects only."""
    return expand(live, old, *rest) if old is None else []


def wraps_again(live: Object, old: Object | None, *rest: Any) -> list[Operation]:
    """Add one thing more each time."""
    note = live["metadata"]["annotations"].get("again", "")
    return [
        *expand(live, old, *rest),
        {"op": "add", "path": "/metadata/annotations/again", "value": note + "x"},
    ]


def drops_a_label(live: Object, old: Object | None, *rest: Any) -> list[Operation]:
    """Take something of the author's."""
    lost = [{"op": "remove", "path": "/spec/x-unknown"}] if "x-unknown" in live["spec"] else []
    return [*expand(live, old, *rest), *lost]


def tidies_up(live: Object, old: Object | None, *rest: Any) -> list[Operation]:
    """Change the argument instead of answering with a patch."""
    operations = expand(live, old, *rest)
    live["spec"].pop("x-unknown", None)
    return operations


def leaves_all(live: Object) -> Study:
    """Say what comes off, and leave it there."""
    return replace(study(live), original=live)


def adds_in_front(live: Object, overlay: Overlay) -> list[Operation]:
    """Add to every list in front."""
    return [operation | {"path": operation["path"].replace("/-", "/0")} for operation in patch(live, overlay)]


def takes_for_granted(body: bytes) -> review.AdmissionAnswer:
    """Believe that every object has a spec."""
    request = read_review(body)
    assert request.live is not None
    request.live["spec"]["leaderWorkerTemplate"]
    return review.mutate(body)


BROKEN: Final[dict[Law, Engine]] = {
    laws.idempotent: Engine(expand=wraps_again),
    laws.converges: Engine(expand=always_as_new),
    laws.carries_on: Engine(expand=always_as_new),
    laws.withdraws: Engine(expand=keeps_when_withdrawn),
    laws.resizes: Engine(expand=keeps_what_it_put_on),
    laws.takes_off: Engine(study=leaves_all),
    laws.patches_as_merged: Engine(patch=adds_in_front),
    laws.spares: Engine(expand=drops_a_label),
    laws.answers: Engine(mutate=takes_for_granted),
    laws.leaves_arguments: Engine(expand=tidies_up),
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_law_catches_the_engine_that_breaks_it(law: Law) -> None:
    with pytest.raises((AssertionError, KeyError)):
        hold(law, BROKEN[law])
