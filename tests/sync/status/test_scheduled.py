"""The condition Scheduled: whether a replica of every role is on nodes, and what the others wait for."""

from intent.errors import FieldError
from intent.inferenceservice.read import RoleIntent
from sync.observed.pod_group import PodGroup
from tests.sync.status.samples import (
    D0,
    D1,
    P0,
    PREFILL,
    group,
    lws,
    message,
    reason,
    seen,
    service,
    waiting,
)

P_WAITS = waiting("prefill", 0, 2)
D_WAITS = waiting("decode", 0, 4)
MORE = waiting("decode", 1, 4)


def test_a_service_with_all_pods_on_nodes_is_scheduled() -> None:
    assert reason("Scheduled", seen()) == ("True", "AllScheduled")


def test_one_replica_per_role_is_enough() -> None:
    assert reason("Scheduled", seen(P0, D0, MORE)) == ("True", "PartlyScheduled")


def test_the_other_replicas_name_what_they_lack() -> None:
    expected = "role decode has 1 of 2 replicas on nodes, waits for 32 more nvidia.com/gpu (4 pods)"

    assert message("Scheduled", seen(P0, D0, MORE)) == expected


def test_an_unschedulable_role_waits_for_its_accelerators() -> None:
    observed = seen(P0, D_WAITS, MORE)

    assert reason("Scheduled", observed) == ("False", "WaitingForResources")
    assert message("Scheduled", observed) == "role decode waits for 32 more nvidia.com/gpu (4 pods)"


def test_two_waiting_roles_are_both_named() -> None:
    assert message("Scheduled", seen(P_WAITS, D_WAITS)) == (
        "role prefill waits for 16 more nvidia.com/gpu (2 pods); "
        "role decode waits for 32 more nvidia.com/gpu (4 pods)"
    )


def test_a_group_with_half_of_its_pods_on_nodes_waits_for_the_rest() -> None:
    half = D0[:2] + D_WAITS[2:]

    assert message("Scheduled", seen(P0, half)) == "role decode waits for 16 more nvidia.com/gpu (2 pods)"


def test_pods_that_do_not_exist_yet_count_with_their_group() -> None:
    leader = D_WAITS[:1]

    assert message("Scheduled", seen(P0, leader)) == "role decode waits for 32 more nvidia.com/gpu (4 pods)"


def test_a_role_waits_for_its_cheapest_group() -> None:
    nearly = D1[:3] + MORE[3:]

    assert message("Scheduled", seen(P0, D_WAITS, nearly)) == (
        "role decode waits for 8 more nvidia.com/gpu (1 pod)"
    )


def test_a_group_is_measured_by_the_size_of_its_own_revision() -> None:
    resized = (PREFILL, RoleIntent("decode", "decoder", {}, replicas=2, nodes=5))
    old, new = group("decode", 0, 2, group_size=2), waiting("decode", 1, 5, group_size=5)
    observed = seen(P0, old, new, service=service(*resized))

    assert reason("Scheduled", observed) == ("True", "PartlyScheduled")
    assert reason("Ready", observed) == ("True", "ServiceReady")
    assert message("Scheduled", observed) == (
        "role decode has 1 of 2 replicas on nodes, waits for 40 more nvidia.com/gpu (5 pods)"
    )


def test_a_group_between_two_sizes_is_not_complete() -> None:
    resized = (PREFILL, RoleIntent("decode", "decoder", {}, replicas=1, nodes=2))
    between = group("decode", 0, 1, group_size=2) + group("decode", 0, 3, group_size=4)[1:]

    assert message("Scheduled", seen(P0, between, service=service(*resized))) == (
        "role decode has 3 of 4 pods of a replica"
    )


def test_pods_without_accelerators_wait_for_a_node() -> None:
    plain = waiting("decode", 0, 4, accelerators=())

    assert message("Scheduled", seen(P0, plain)) == "role decode waits for capacity for 4 pods"


def test_the_scheduler_is_quoted() -> None:
    held = waiting("decode", 0, 4, held="0/6 nodes are available")

    assert message("Scheduled", seen(P0, held)).endswith(". The scheduler says: 0/6 nodes are available")


def test_volcano_is_quoted_where_the_pods_have_no_message() -> None:
    observed = seen(
        P0, D_WAITS, pod_group=PodGroup("default", "qwen", message="4/6 tasks in gang unschedulable")
    )

    assert message("Scheduled", observed).endswith(". The scheduler says: 4/6 tasks in gang unschedulable")


def test_a_gang_without_its_pod_group_waits_for_it() -> None:
    assert reason("Scheduled", seen(P_WAITS, D_WAITS, pod_group=None)) == ("False", "WaitingForPodGroup")


def test_a_single_pod_needs_no_pod_group() -> None:
    role = RoleIntent("worker", "worker", {}, replicas=1)
    sets = {"worker": lws("worker")}
    observed = seen(waiting("worker", 0, 1), service=service(role), sets=sets, pod_group=None)

    assert reason("Scheduled", observed) == ("False", "WaitingForResources")


def test_a_closed_gate_names_the_missing_role() -> None:
    shut = FieldError("metadata", None, "service r1 waits for role decode", "FI410")
    observed = seen(P_WAITS, pod_group=None, errors=(shut,))

    assert reason("Scheduled", observed) == ("False", "WaitingForRole")
    assert message("Scheduled", observed) == "service r1 waits for role decode"


def test_a_role_without_pods_lacks_them() -> None:
    observed = seen(P0)

    assert reason("Scheduled", observed) == ("False", "PodsMissing")
    assert message("Scheduled", observed) == "role decode has 0 of 4 pods of a replica"


def test_a_pod_being_deleted_does_not_count() -> None:
    going = group("decode", 0, 1, deleting=True) + D0[1:]

    assert message("Scheduled", seen(P0, going)) == "role decode has 3 of 4 pods of a replica"


def test_a_pod_of_a_foreign_lws_does_not_count() -> None:
    assert reason("Scheduled", seen(P0, group("other", 0, 4))) == ("False", "PodsMissing")


def test_a_role_scaled_to_zero_waits_for_nothing() -> None:
    roles = (PREFILL, RoleIntent("decode", "decoder", {}, replicas=0, nodes=4))

    assert reason("Scheduled", seen(P0, service=service(*roles))) == ("True", "AllScheduled")


def test_omitted_replicas_are_those_of_the_lws() -> None:
    roles = (PREFILL, RoleIntent("decode", "decoder", {}, nodes=4))

    assert reason("Scheduled", seen(P0, D0, service=service(*roles))) == ("True", "PartlyScheduled")


def test_pods_of_an_earlier_generation_prove_nothing() -> None:
    late = {"prefill": lws("prefill"), "decode": lws("decode", generation=2, observed=1)}
    observed = seen(sets=late)

    assert reason("Scheduled", observed) == ("Unknown", "NotObserved")
    assert message("Scheduled", observed) == "LeaderWorkerSet r1-decode has a status of generation 1, not 2"


def test_what_is_certainly_missing_is_reported_for_any_generation() -> None:
    assert reason("Scheduled", seen(P0, D_WAITS, settled=False)) == ("False", "WaitingForResources")
