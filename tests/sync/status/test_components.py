"""The counts and the phase of every role."""

from typing import Any, Final

import pytest

from intent import Object
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent
from sync.status import status
from sync.status.observed import Observed
from tests.sync.status.samples import (
    CRASH,
    D0,
    LATER,
    NOW,
    P0,
    PREFILL,
    lws,
    seen,
    service,
    starting,
    waiting,
)

SETS: Final = {"prefill": lws("prefill"), "decode": lws("decode", replicas=2)}
SHORT: Final = seen(P0, D0, waiting("decode", 1, 4))
D_STARTS: Final = starting("decode", 0, 4)


def decoders(**fields: Any) -> InferenceServiceIntent:
    """Return a service whose decode role has these fields."""
    return service(PREFILL, RoleIntent("decode", "decoder", {}, nodes=4, **fields))


def decode(observed: Observed, before: Object | None = None, now: str = NOW) -> Any:
    """Return the component of the decoders."""
    return status(observed, before or {}, now)["components"]["decode"]


def test_a_role_is_counted() -> None:
    assert decode(SHORT) == {
        "desiredReplicas": 2,
        "readyReplicas": 1,
        "nodesPerReplica": 4,
        "totalPods": 8,
        "readyPods": 4,
        "phase": "Deploying",
        "ready": "1/2",
        "lastUpdateTime": NOW,
    }


def test_a_ready_pod_of_an_unready_group_counts_as_a_pod_only() -> None:
    found = decode(seen(P0, D0[:3] + D_STARTS[3:]))

    assert (found["readyReplicas"], found["readyPods"]) == (0, 3)


def test_replicas_of_an_autoscaler_are_desired() -> None:
    sets = SETS | {"decode": lws("decode", replicas=5)}

    assert decode(seen(service=decoders(), sets=sets))["desiredReplicas"] == 5


@pytest.mark.parametrize(
    ("observed", "phase"),
    [
        (seen(sets={"prefill": lws("prefill")}), "Pending"),
        (seen(P0, waiting("decode", 0, 4)), "Pending"),
        (seen(P0, D_STARTS), "Deploying"),
        (seen(sets=SETS | {"decode": lws("decode", updating=True)}), "Deploying"),
        (seen(), "Running"),
        (seen(P0, service=decoders(replicas=0)), "Running"),
        (seen(P0, D0, starting("decode", 1, 4, failure=CRASH)), "Failed"),
        (seen(sets=SETS | {"decode": lws("decode", generation=2)}), "Unknown"),
    ],
    ids=["no LWS", "unschedulable", "starting", "updating", "complete", "zero", "crashing", "of earlier"],
)
def test_a_role_has_a_phase(observed: Observed, phase: str) -> None:
    assert decode(observed)["phase"] == phase


def test_only_a_changed_role_gets_a_new_time() -> None:
    before = status(seen(), {}, NOW)

    assert decode(seen(), before, LATER)["lastUpdateTime"] == NOW
    assert decode(seen(P0, D0), before, LATER)["lastUpdateTime"] == LATER


def test_a_removed_role_is_not_listed() -> None:
    before = status(seen(), {}, NOW)

    assert set(status(seen(P0, service=service(PREFILL)), before, LATER)["components"]) == {"prefill"}


def test_replicas_of_all_roles_are_counted_together() -> None:
    assert status(SHORT, {}, NOW)["ready"] == {"replicas": "2/3"}


def test_a_service_that_cannot_be_read_has_no_counts_and_no_empty_maps() -> None:
    unread = status(seen(service=InferenceServiceIntent("team-a", "r1")), {}, NOW)

    assert not {"components", "ready"} & unread.keys()  # the API server would refuse to empty stored ones
