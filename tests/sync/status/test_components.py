"""The counts and the phase of every role."""

from dataclasses import replace
from typing import Any

from intent import Object
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent
from sync.observed.routes import Deployment
from sync.status import Observed, status
from tests.sync.status.samples import (
    CRASH,
    D0,
    D1,
    LATER,
    NOW,
    P0,
    PREFILL,
    lws,
    routes,
    seen,
    service,
    starting,
    waiting,
)

SETS = {"prefill": lws("prefill"), "decode": lws("decode", replicas=2)}


def decode(observed: Observed, before: Object | None = None, now: str = NOW) -> Any:
    """Return the component of the decoders."""
    return status(observed, before or {}, now)["components"]["decode"]


def phase(observed: Observed) -> Any:
    """Return the phase of the decoders."""
    return decode(observed)["phase"]


def test_a_role_is_counted() -> None:
    assert decode(seen(P0, D0, waiting("decode", 1, 4))) == {
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
    found = decode(seen(P0, D0[:3] + starting("decode", 0, 4)[3:]))

    assert (found["readyReplicas"], found["readyPods"]) == (0, 3)


def test_replicas_of_an_autoscaler_are_desired() -> None:
    roles = (PREFILL, RoleIntent("decode", "decoder", {}, nodes=4))
    sets = SETS | {"decode": lws("decode", replicas=5)}

    assert decode(seen(service=service(*roles), sets=sets))["desiredReplicas"] == 5


def test_a_role_without_its_lws_is_pending() -> None:
    assert phase(seen(sets={"prefill": lws("prefill")})) == "Pending"


def test_an_unschedulable_role_is_pending() -> None:
    assert phase(seen(P0, waiting("decode", 0, 4))) == "Pending"


def test_a_role_whose_pods_start_is_deploying() -> None:
    assert phase(seen(P0, starting("decode", 0, 4))) == "Deploying"


def test_a_role_in_a_rolling_update_is_deploying() -> None:
    assert phase(seen(sets=SETS | {"decode": lws("decode", updating=True)})) == "Deploying"


def test_a_complete_role_is_running() -> None:
    assert phase(seen()) == "Running"


def test_a_role_scaled_to_zero_is_running() -> None:
    roles = (PREFILL, RoleIntent("decode", "decoder", {}, replicas=0, nodes=4))

    assert phase(seen(P0, service=service(*roles))) == "Running"


def test_a_role_that_crashes_has_failed() -> None:
    assert phase(seen(P0, D0, starting("decode", 1, 4, failure=CRASH))) == "Failed"


def test_a_role_of_an_earlier_generation_is_unknown() -> None:
    assert phase(seen(sets=SETS | {"decode": lws("decode", generation=2)})) == "Unknown"


def test_an_unchanged_role_keeps_its_time() -> None:
    before = status(seen(), {}, NOW)

    assert decode(seen(), before, LATER)["lastUpdateTime"] == NOW


def test_a_changed_role_gets_a_new_time() -> None:
    before = status(seen(), {}, NOW)

    assert decode(seen(P0, D0), before, LATER)["lastUpdateTime"] == LATER


def test_changing_pods_change_the_counts() -> None:
    counts = [decode(seen(P0, *groups))["readyPods"] for groups in ((), (D0,), (D0, D1), (D1,), ())]

    assert counts == [0, 4, 8, 4, 0]


def test_a_removed_role_is_not_listed() -> None:
    before = status(seen(), {}, NOW)
    alone = seen(P0, service=service(PREFILL))

    assert set(status(alone, before, LATER)["components"]) == {"prefill"}


def ready(observed: Observed) -> Any:
    """Return the counts for the columns of kubectl."""
    return status(observed, {}, NOW)["ready"]


def test_replicas_are_counted_by_component_type_and_together() -> None:
    assert ready(seen(P0, D0, waiting("decode", 1, 4))) == {
        "replicas": "2/3",
        "prefillers": "1/1",
        "decoders": "1/2",
    }


def test_the_replicas_of_roles_of_one_component_type_are_added_up() -> None:
    roles = (PREFILL, RoleIntent("decode", "decoder", {}, replicas=2, nodes=4), replace(PREFILL, name="long"))

    assert ready(seen(service=service(*roles)))["prefillers"] == "1/2"


def test_the_endpoint_picker_is_counted_while_it_has_a_deployment() -> None:
    picker = Deployment(available=True, current=True, replicas=2, ready=1)

    assert ready(seen(routes=routes(picker=picker)))["endpointPicker"] == "1/2"
    assert "endpointPicker" not in ready(seen(routes=routes(picker=None)))


def test_a_service_that_cannot_be_read_has_no_counts_and_no_empty_maps() -> None:
    unread = status(seen(service=InferenceServiceIntent("team-a", "r1")), {}, NOW)

    assert not {"components", "ready"} & unread.keys()  # the API server would refuse to empty stored ones
