"""A scheduler that takes any node with room for a pod: a plan holds whichever it takes.

Services come by priority; those that have not started first, in their order, and then any of the others. A
node that had no room for a pod of a group is not tried again for it. Pods of no gang come before or after, in
any order.
"""

import random
from collections.abc import Iterator, Sequence

from plan.demand import Demand
from plan.placing import obstacle
from plan.supply import Supply
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
            if all((key, pod) in self.placed[at] for pod in range(one.roles[key[0]].size))
        }

    def order(self, at: int) -> tuple[int, bool, float]:
        """Return the place of a service among those that wait."""
        is_ready = self.is_ready(at)
        return -self.workloads[at].priority, is_ready, self.random.random() if is_ready else at

    def has_room(self, one: Demand, at: int) -> bool:
        """Return whether a node has room for a pod."""
        node = self.nodes[at]
        return not obstacle(one, node.labels, node.taints) and all(
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

    def place_singly(self) -> None:
        """Place pods of no gang in any order."""
        pods = [
            (at, (key, 0))
            for at, one in enumerate(self.workloads)
            for key in (() if one.is_gang else groups(one))
            if (key, 0) not in self.placed[at]
        ]
        self.random.shuffle(pods)
        for at, where in pods:
            found = [
                node
                for node in range(len(self.nodes))
                if self.has_room(demand(self.workloads[at], *where), node)
            ]
            if found:
                self.put(at, where, self.random.choice(found))

    def start(self, at: int) -> bool:
        """Start the required groups of a service together, or one further group; return whether it did."""
        done: list[GroupKey] = []
        for key in self.candidates(at):
            if self.whole(at, key):
                done.append(key)
                if self.is_ready(at):
                    return True
        for key in done:
            for pod in range(self.workloads[at].roles[key[0]].size):
                self.put(at, (key, pod), self.placed[at][key, pod], -1)
        return False

    def candidates(self, at: int) -> Iterator[GroupKey]:
        one, there = self.workloads[at], self.started()
        pending = [key for key in groups(one) if (at, *key) not in there]
        self.random.shuffle(pending)
        pending.sort(key=lambda key: key[1])
        left = self.lacking(at)
        needed = []
        for key in pending:
            if left[key[0]] > 0:
                needed.append(key)
                left[key[0]] -= 1
        yield from needed
        yield from (key for key in pending if key not in needed)

    def lacking(self, at: int) -> list[int]:
        counts = [
            sum(each[:2] == (at, role) for each in self.started())
            for role in range(len(self.workloads[at].roles))
        ]
        return [its.required - has for its, has in zip(self.workloads[at].roles, counts, strict=True)]

    def is_ready(self, at: int) -> bool:
        return all(one <= 0 for one in self.lacking(at))

    def whole(self, at: int, key: GroupKey) -> bool:
        """Place a whole group, or nothing of it."""
        one, done, failed = self.workloads[at], list[Pod](), set[int]()
        for pod in sorted(range(one.roles[key[0]].size), key=lambda pod: (pod or key[1], bool(pod))):
            asked = demand(one, key, pod)
            rooms = {
                node: self.has_room(asked, node) for node in range(len(self.nodes)) if node not in failed
            }
            failed |= {node for node, fits in rooms.items() if not fits}
            found = [node for node, fits in rooms.items() if fits]
            if not found:
                for where in done:
                    self.put(at, where, self.placed[at][where], -1)
                return False
            self.put(at, (key, pod), self.random.choice(found))
            done.append((key, pod))
        return True


def demand(one: Workload, key: GroupKey, pod: int) -> Demand:
    """Return what a pod asks for."""
    role = one.roles[key[0]]
    return role.shapes[min(pod, 1)].demand


def groups(one: Workload) -> list[GroupKey]:
    """Return all groups."""
    return [(at, group) for at, role in enumerate(one.roles) for group in range(role.replicas)]
