"""A scheduler that takes any node with room for a pod: a plan holds whichever it takes.

Services come by priority; those that have not started first, in their order, and then any of the others. A
node that had no room for a pod of a group is not tried again for it. Pods of no gang come before or after, in
any order.
"""

import random
from collections import Counter
from collections.abc import Container, Mapping, Sequence

from plan.demand import Demand
from plan.supply import Supply, obstacle
from plan.workload import Workload

GroupKey = tuple[int, int]
"""A role, and the index of a group."""
Group = tuple[int, int, int]
Pod = tuple[GroupKey, int]


class Scheduler:
    """Nodes, and the pods on them."""

    def __init__(self, workloads: Sequence[Workload], seed: int) -> None:
        self.workloads = workloads
        self.random = random.Random(seed)  # noqa: S311 - it chooses nodes
        self.nodes: list[Supply] = []
        self.used: list[dict[str, int]] = []
        self.placed: list[dict[Pod, int]] = [{} for _ in workloads]

    def add(self, nodes: Sequence[Supply]) -> None:
        """Add nodes, and place what has room."""
        self.nodes += nodes
        self.used += [dict(one.used) for one in nodes]
        if self.random.random() < 0.5:
            self.place_singly()
        waiting = {at for at, one in enumerate(self.workloads) if one.is_gang and not one.waits}
        while waiting:
            at = min(waiting, key=self.order)
            if not self.start(at):
                waiting.remove(at)
        self.place_singly()

    def started(self) -> set[Group]:
        """Return the groups of which all pods are on nodes."""
        return {
            (at, *key)
            for at, one in enumerate(self.workloads)
            for key in groups(one)
            if all((key, pod) in self.placed[at] for pod in range(one.roles[key[0]].member.size))
        }

    def order(self, at: int) -> tuple[int, bool, float]:
        """Return the place of a service among those that wait."""
        is_ready = not any(self.lacking(at))
        return -self.workloads[at].priority, is_ready, self.random.random() if is_ready else at

    def has_room(self, one: Demand, at: int) -> bool:
        """Return whether a node has room for a pod."""
        node = self.nodes[at]
        return not obstacle(one, node) and all(
            self.used[at].get(name, 0) + amount <= node.has(name) for name, amount in one.requests
        )

    def put(self, at: int, where: Pod, node: int, times: int = 1) -> None:
        """Put a pod on a node, or take it away."""
        for name, amount in demand(self.workloads[at], *where).requests:
            self.used[node][name] = self.used[node].get(name, 0) + times * amount
        if times > 0:
            self.placed[at][where] = node
        else:
            del self.placed[at][where]

    def place(self, at: int, where: Pod, but: Container[int] = ()) -> set[int]:
        """Place a pod on any node with room, if there is one, but some; return the nodes without room."""
        asked = demand(self.workloads[at], *where)
        tried = [node for node in range(len(self.nodes)) if node not in but]
        rooms = [node for node in tried if self.has_room(asked, node)]
        if rooms:
            self.put(at, where, self.random.choice(rooms))
        return {*tried} - {*rooms}

    def place_singly(self) -> None:
        """Place pods of no gang in any order."""
        pods = [
            (at, (key, pod))
            for at, one in enumerate(self.workloads)
            if not one.is_gang
            for key in self.pending(at)
            for pod in range(one.roles[key[0]].member.size)
            if (key, pod) not in self.placed[at]
        ]
        self.random.shuffle(pods)
        for at, where in pods:
            self.place(at, where)

    def pending(self, at: int) -> list[GroupKey]:
        """Return the groups of a service that have not started: of each role by index."""
        keys = [key for key in groups(self.workloads[at]) if (at, *key) not in self.started()]
        self.random.shuffle(keys)
        return sorted(keys, key=lambda key: key[1])

    def start(self, at: int) -> bool:
        """Start the required groups of a service together, or one further group; return whether it did."""
        before, pending, left = dict(self.placed[at]), self.pending(at), self.lacking(at)
        needed = [key for key in pending if key[1] < left[key[0]]]
        for key in (*needed, *(key for key in pending if key not in needed)):
            if self.whole(at, key) and not any(self.lacking(at)):
                return True
        self.clear(at, before)
        return False

    def clear(self, at: int, before: Mapping[Pod, int]) -> None:
        """Take away the pods of a service that were not there before."""
        for where in [one for one in self.placed[at] if one not in before]:
            self.put(at, where, self.placed[at][where], -1)

    def lacking(self, at: int) -> list[int]:
        """Return how many groups of each role must still start."""
        there = Counter(key[1] for key in self.started() if key[0] == at)
        return [max(0, its.required - there[role]) for role, its in enumerate(self.workloads[at].roles)]

    def whole(self, at: int, key: GroupKey) -> bool:
        """Place a whole group, or nothing of it."""
        before, failed = dict(self.placed[at]), set[int]()
        size = self.workloads[at].roles[key[0]].member.size
        for pod in sorted(range(size), key=lambda pod: (pod or key[1], bool(pod))):
            failed |= self.place(at, (key, pod), failed)
            if (key, pod) not in self.placed[at]:
                self.clear(at, before)
                return False
        return True


def demand(one: Workload, key: GroupKey, pod: int) -> Demand:
    """Return what a pod asks for."""
    return one.roles[key[0]].shapes[min(pod, 1)].demand


def groups(one: Workload) -> list[GroupKey]:
    """Return all groups."""
    return [(at, group) for at, role in enumerate(one.roles) for group in range(role.member.replicas)]
