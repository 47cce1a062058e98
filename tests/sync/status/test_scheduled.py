"""The condition Scheduled: whether a replica of every role is on nodes, and what the others wait for."""

from typing import Any, Final

from intent.errors import FieldError
from intent.inferenceservice.read import RoleIntent
from sync.observed.pod_group import PodGroup
from sync.status.observed import Observed
from tests.sync.status.samples import (
    D0,
    D1,
    P0,
    PREFILL,
    Case,
    each,
    group,
    judged,
    lws,
    reason,
    seen,
    service,
    waiting,
)

P_WAITS = waiting("prefill", 0, 2)
D_WAITS = waiting("decode", 0, 4)
MORE = waiting("decode", 1, 4)
LACKS: Final = "role decode waits for %s more nvidia.com/gpu (%s)"
FOUR: Final = LACKS % (32, "4 pods")
PARTLY: Final = "role decode has 1 of 2 replicas on nodes, waits for %s more nvidia.com/gpu (%s pods)"
SHUT: Final = FieldError("metadata", None, "service r1 waits for role decode", "FI410")
ONE: Final = RoleIntent("worker", "worker", {}, replicas=1)
LATE: Final = {"prefill": lws("prefill"), "decode": lws("decode", generation=2, observed=1)}
THREE_OF_FOUR: Final = "role decode has 3 of 4 pods of a replica"


def decoders(**fields: Any) -> tuple[RoleIntent, ...]:
    """Return the roles, of which the decoders have these fields."""
    return PREFILL, RoleIntent("decode", "decoder", {}, **({"nodes": 4} | fields))


RESIZED: Final = seen(
    P0,
    group("decode", 0, 2, group_size=2),
    waiting("decode", 1, 5, group_size=5),
    service=service(*decoders(replicas=2, nodes=5)),
)
BETWEEN: Final = group("decode", 0, 1, group_size=2) + group("decode", 0, 3, group_size=4)[1:]
UNSCHEDULABLE: Final = PodGroup("default", "qwen", message="4/6 tasks in gang unschedulable")
CASES: Final[dict[str, Case]] = {
    "all pods on nodes": (seen(), "True AllScheduled"),
    "one replica per role is enough": (seen(P0, D0, MORE), f"True PartlyScheduled: {PARTLY % (32, 4)}"),
    "a role waits for its accelerators": (seen(P0, D_WAITS, MORE), f"False WaitingForResources: {FOUR}"),
    "two roles wait": (
        seen(P_WAITS, D_WAITS),
        f"False WaitingForResources: role prefill waits for 16 more nvidia.com/gpu (2 pods); {FOUR}",
    ),
    "a group with half of its pods on nodes": (
        seen(P0, D0[:2] + D_WAITS[2:]),
        f"False WaitingForResources: {LACKS % (16, '2 pods')}",
    ),
    "pods that do not exist yet": (seen(P0, D_WAITS[:1]), f"False WaitingForResources: {FOUR}"),
    "the cheapest group counts": (
        seen(P0, D_WAITS, D1[:3] + MORE[3:]),
        f"False WaitingForResources: {LACKS % (8, '1 pod')}",
    ),
    "a group has the size of its own revision": (RESIZED, f"True PartlyScheduled: {PARTLY % (40, 5)}"),
    "a group between two sizes": (
        seen(P0, BETWEEN, service=service(*decoders(replicas=1, nodes=2))),
        f"False PodsMissing: {THREE_OF_FOUR}",
    ),
    "pods without accelerators": (
        seen(P0, waiting("decode", 0, 4, accelerators=())),
        "False WaitingForResources: role decode waits for capacity for 4 pods",
    ),
    "the scheduler is quoted": (
        seen(P0, waiting("decode", 0, 4, held="0/6 nodes are available")),
        f"False WaitingForResources: {FOUR}. The scheduler says: 0/6 nodes are available",
    ),
    "Volcano is quoted where the pods have no message": (
        seen(P0, D_WAITS, pod_group=UNSCHEDULABLE),
        f"False WaitingForResources: {FOUR}. The scheduler says: 4/6 tasks in gang unschedulable",
    ),
    "a gang without its PodGroup": (seen(P_WAITS, D_WAITS, pod_group=None), "False WaitingForPodGroup"),
    "a single pod needs none": (
        seen(waiting("worker", 0, 1), service=service(ONE), sets={"worker": lws("worker")}, pod_group=None),
        "False WaitingForResources",
    ),
    "a closed gate names the missing role": (
        seen(P_WAITS, pod_group=None, errors=(SHUT,)),
        "False WaitingForRole: service r1 waits for role decode",
    ),
    "a role without pods": (seen(P0), "False PodsMissing: role decode has 0 of 4 pods of a replica"),
    "a pod being deleted does not count": (
        seen(P0, group("decode", 0, 1, deleting=True) + D0[1:]),
        f"False PodsMissing: {THREE_OF_FOUR}",
    ),
    "a pod of a foreign LWS does not count": (seen(P0, group("other", 0, 4)), "False PodsMissing"),
    "a role scaled to zero": (seen(P0, service=service(*decoders(replicas=0))), "True AllScheduled"),
    "replicas that are left out are the LWS's": (
        seen(P0, D0, service=service(*decoders())),
        "True PartlyScheduled",
    ),
    "pods of an earlier generation prove nothing": (
        seen(sets=LATE),
        "Unknown NotObserved: LeaderWorkerSet r1-decode has a status of generation 1, not 2",
    ),
    "what is missing is so in any generation": (
        seen(P0, D_WAITS, settled=False),
        "False WaitingForResources",
    ),
}


@each(Scheduled=CASES)
def test_it_says_what_is_on_nodes_and_what_the_rest_waits_for(
    kind: str, observed: Observed, verdict: str, said: str
) -> None:
    assert judged(kind, observed, said) == (verdict, said)


def test_a_group_of_an_earlier_size_is_ready() -> None:
    assert reason("Ready", RESIZED) == ("True", "ServiceReady")
