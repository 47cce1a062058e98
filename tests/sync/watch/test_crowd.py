"""A service of too many LeaderWorkerSets: the limit counts before any of them is read."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from intent import Object
from intent.budget import MEMBERS
from sync.kinds import INFERENCE_SERVICE, LWS, WATCHED, Kind
from sync.observe import ServiceMemory, observe
from sync.parts.service import ALL, desired_state
from sync.snapshot import Snapshot
from sync.watch.cache import Cache, Caches
from tests.builders.counted import counted
from tests.sync.samples import KEY, SETTINGS, inference_service, lws, role, take
from tests.sync.watch.test_rows import RELATED, of_service, revised

LIMITED: Final = ("members of a service", "members of a revision", "ejected from a gang")


def caches_with(*found: tuple[Kind[Any], Object]) -> Caches:
    caches = {one.kind: Cache(one) for one in WATCHED}
    for kind, obj in found:
        take(caches[kind.kind], obj)
    return caches


def crowd(build: Callable[[int], Object], count: int) -> Caches:
    return caches_with(*((LWS, build(number)) for number in range(count)))


def observed(caches: Caches) -> Snapshot:
    return observe(KEY, caches, ServiceMemory())


def reconcile(caches: Caches) -> None:
    """Compute the desired state."""
    desired_state(observed(caches), SETTINGS)


@pytest.mark.parametrize("relation", LIMITED)
def test_a_reconcile_costs_the_same_for_all_sizes_above_the_limit(relation: str) -> None:
    def cost(count: int) -> int:
        caches = crowd(RELATED[relation][1], count)
        reconcile(caches)  # functions remember some results
        with counted() as files:
            reconcile(caches)
        return files.total()

    assert cost(MEMBERS + 1) == cost(8 * MEMBERS)


def test_the_limit_itself_is_allowed() -> None:
    found = observed(crowd(of_service, MEMBERS))

    codes = {one.error.code for one in desired_state(found, SETTINGS).findings}
    assert (len(found.members), "FI904" in codes) == (MEMBERS, False)


@pytest.mark.parametrize("build", [of_service, revised])
def test_one_finding_has_the_number(build: Callable[[int], Object]) -> None:
    desired = desired_state(observed(crowd(build, MEMBERS + 72)), SETTINGS)

    (finding,) = desired.findings
    assert (finding.subject.name, finding.error.code) == ("p0", "FI904")
    assert (desired.held, desired.objects) == (ALL, ())
    assert "200 LeaderWorkerSets" in finding.error.message


def test_the_roles_of_an_inference_service_stay_in_the_snapshot() -> None:
    """Its status is about them."""
    service = inference_service(role("worker"))
    caches = crowd(of_service, MEMBERS + 1)
    take(caches[LWS.kind], lws("r1-worker", "worker"))
    take(caches[INFERENCE_SERVICE.kind], service)

    found = observed(caches)

    assert {row.name for row in found.rows[LWS.kind]} == {"p0", "r1-worker"}
    assert [one.subject.kind for one in desired_state(found, SETTINGS).findings] == ["InferenceService"]
