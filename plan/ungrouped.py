"""Pods of no gang: each is placed by itself, as Kubernetes' own scheduler does.

Source: Kubernetes `pkg/scheduler/framework/plugins/queuesort`: pods come by priority, then by age. None waits
for the rest of its group, so pods hold what they have.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from plan.pool import NodePool
from plan.progress import DEFAULT, Order, Progress, Single, count, start
from plan.scoring import KUBERNETES

Rank = tuple[int, int]
"""The priority of a pod, with a minus, and its workload."""


def place_singly(waiting: Sequence[Progress], pool: NodePool, order: Order = DEFAULT) -> None:
    """Place every pod that has room. If a pod has none, the others with its demand have none either."""
    turns = [
        (_rank(pool, at, demand, order), at, pods[-1], demand)
        for at, one in enumerate(waiting)
        for demand, pods in one.singles.items()
        if pods
    ]
    heapify(turns)
    hopeless: set[int] = set()
    while turns:
        _, at, pod, demand = heappop(turns)
        if demand in hopeless:
            continue
        node = pool.place(demand, KUBERNETES)
        if node is None:
            hopeless.add(demand)
            continue
        left = waiting[at].singles[demand]
        left.pop()
        _keep(waiting[at], pool, pod, (demand, node))
        if left:
            heappush(turns, (_rank(pool, at, demand, order), at, left[-1], demand))


def _rank(pool: NodePool, at: int, demand: int, order: Order) -> Rank:
    priority = pool.demands[demand].priority
    return (priority, -at) if order.lowest_first else (-priority, at)


def _keep(one: Progress, pool: NodePool, pod: Single, where: tuple[int, int]) -> None:
    demand, node = where
    one.placed.setdefault(pod.key, {})[pod.pod] = node
    count(one, pool, demand, 1)
    one.left[pod.key] -= 1
    if not one.left[pod.key]:
        start(one, pod.key)
