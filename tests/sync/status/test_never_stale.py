"""A condition is not `True` once its cause is gone, whatever else is gone too."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intent import Object
from sync.observed.routes import InferencePool, ParentStatus
from sync.status import status
from sync.status.observed import Observed
from sync.status.reasons import CONDITIONS, OPTIONAL
from tests.sync.status.samples import (
    CRASH,
    D0,
    GATEWAY,
    LATER,
    NOW,
    P0,
    RULE,
    deployment,
    gateway,
    group,
    lws,
    route,
    routes,
    said,
    seen,
    starting,
    waiting,
)

Change = Callable[[Observed], Observed]
COMPLETE: Final = seen(routes=routes())
GOOD: Final = ("Initialized", "Scheduled", "RoutesReady", "Ready", "Active")
NODES: Final = ("Scheduled", "Ready", "Active")
ROUTES: Final = ("RoutesReady", "Ready")


def sets(role: str, **fields: Any) -> Change:
    """Change the LeaderWorkerSet of a role."""
    return lambda now: replace(now, sets={**now.sets, role: lws(role, **fields)})


def pods(role: str, *groups: Any) -> Change:
    """Replace the pods of a role."""

    def change(now: Observed) -> Observed:
        others = (pod for pod in now.pods if pod.lws != f"r1-{role}")
        return replace(now, pods=(*others, *(pod for one in groups for pod in one)))

    return change


def routed(**fields: Any) -> Change:
    """Change the observed routes."""
    return lambda now: replace(now, routes=replace(now.routes, **fields) if now.routes else None)


def service(**fields: Any) -> Change:
    """Change the InferenceService."""
    return lambda now: replace(now, service=replace(now.service, **fields))


def answered(*answers: ParentStatus) -> Change:
    """Change the gateways' answers to the route."""
    return routed(http_route=route(*answers))


def without(role: str) -> Change:
    """Remove the LeaderWorkerSet of a role."""
    return lambda now: replace(now, sets={name: one for name, one in now.sets.items() if name != role})


REFUSED: Final = said("False", "NotAllowedByListeners")
CAUSES: Final[dict[str, tuple[Change, tuple[str, ...]]]] = {
    "a generation that cannot be read": (
        lambda now: replace(now, service=replace(now.service, roles=()), settled=False),
        GOOD,
    ),
    "a deleted LWS": (without("decode"), ("Initialized", *NODES)),
    "an LWS with an old status": (sets("decode", replicas=2, generation=2), NODES),
    "a generation that is not applied": (
        lambda now: replace(now, settled=False),
        ("Scheduled", "RoutesReady", "Ready", "Active"),
    ),
    "a deleted node": (pods("prefill"), NODES),
    "a deleted node with some pods": (pods("prefill", P0[:1]), NODES),
    "pods without a node": (pods("prefill", waiting("prefill", 0, 2)), NODES),
    "pods being deleted": (pods("prefill", group("prefill", 0, 2, deleting=True)), NODES),
    "an unready pod": (pods("prefill", starting("prefill", 0, 2)), ("Ready", "Active")),
    "a failing pod": (pods("prefill", starting("prefill", 0, 2, failure=CRASH)), ("Ready", "Active")),
    "one replica of two": (pods("decode", D0, starting("decode", 1, 4)), ("Active",)),
    "one more replica": (
        service(roles=(seen().service.roles[0], replace(seen().service.roles[1], replicas=3))),
        ("Active",),
    ),
    "a rolling update": (sets("decode", replicas=2, updating=True), ("Active",)),
    "no replicas": (
        service(roles=tuple(replace(role, replicas=0) for role in seen().service.roles)),
        ("Ready",),
    ),
    "routes that are not applied": (routed(settled=False), ROUTES),
    "a deleted endpoint picker": (routed(picker=None), ROUTES),
    "an unavailable endpoint picker": (routed(picker=deployment(current=True)), ROUTES),
    "an endpoint picker with an old status": (
        routed(picker=deployment(available=True)),
        ROUTES,
    ),
    "a deleted pool": (routed(pool=None), ROUTES),
    "a refused pool": (
        routed(pool=InferencePool("team-a", "r1-pool", answers=(ParentStatus(GATEWAY, REFUSED, said()),))),
        ROUTES,
    ),
    "a pool without an answer": (routed(pool=InferencePool("team-a", "r1-pool")), ROUTES),
    "a deleted route": (routed(http_route=None), ROUTES),
    "a refused route": (answered(ParentStatus(GATEWAY, REFUSED, said())), ROUTES),
    "an unresolved reference": (answered(ParentStatus(GATEWAY, said(), REFUSED)), ROUTES),
    "a route without an answer": (answered(ParentStatus(GATEWAY)), ROUTES),
    "a deleted gateway": (routed(gateways=()), ROUTES),
    "an unprogrammed gateway": (routed(gateways=(gateway(programmed=REFUSED),)), ROUTES),
    "a gateway without a condition": (routed(gateways=(gateway(programmed=None),)), ROUTES),
    "a finding about routes": (routed(errors=(RULE,)), ROUTES),
}
"""What is removed from a complete service, and which conditions are then not `True`."""
TROUBLES: Final = sorted(CAUSES.keys() - {"no replicas"})
"""With no replicas desired nothing is missing."""


def true(now: Observed, before: Object | None = None) -> set[str]:
    """Return the conditions that are `True`."""
    made = status(now, before or {}, NOW)["conditions"]
    return {one["type"] for one in made if one["status"] == "True"}


def test_a_complete_service_has_every_good_condition() -> None:
    assert true(COMPLETE) == set(GOOD)


@pytest.mark.parametrize(("change", "gone"), CAUSES.values(), ids=CAUSES)
def test_a_removed_cause_ends_its_conditions(change: Change, gone: tuple[str, ...]) -> None:
    before = status(COMPLETE, {}, NOW)

    assert true(change(COMPLETE), before) & set(GOOD) == set(GOOD) - set(gone)


@given(st.lists(st.sampled_from(TROUBLES), min_size=1, max_size=4, unique=True))
def test_no_other_problem_makes_a_condition_true_again(names: list[str]) -> None:
    now, before = COMPLETE, status(COMPLETE, {}, NOW)
    for name in names:
        now = CAUSES[name][0](now)

    last = CAUSES[names[-1]][1]
    assert not true(now, before) & set(last)


@pytest.mark.parametrize("change", [change for change, _ in CAUSES.values()], ids=CAUSES)
def test_a_failure_ends_when_the_service_is_complete(change: Change) -> None:
    before = status(change(COMPLETE), {}, NOW)

    assert "Failed" not in true(COMPLETE, before)


def test_a_failure_ends_with_the_generation_that_failed() -> None:
    failing, _ = CAUSES["a failing pod"]
    before = status(failing(COMPLETE), {}, NOW)
    starting_again = pods("prefill", starting("prefill", 0, 2))(COMPLETE)

    assert "Failed" in true(starting_again, before)
    assert "Failed" not in true(service(generation=4)(starting_again), before)


@pytest.mark.parametrize("change", [change for change, _ in CAUSES.values()], ids=CAUSES)
def test_every_part_of_a_status_is_of_the_observed_generation(change: Change) -> None:
    before = status(COMPLETE, {}, NOW)
    now = service(generation=7)(change(COMPLETE))

    made = status(now, before, LATER)

    assert {one["observedGeneration"] for one in made["conditions"]} == {made["observedGeneration"]} == {7}
    assert [one["type"] for one in made["conditions"]] == [
        name for name in CONDITIONS if name not in OPTIONAL
    ]
