"""The groups of a role: which are scheduled, which are ready, and what the others wait for.

A group counts as a whole or not at all, as the gang is scheduled and as LeaderWorkerSet counts replicas. Its
size is that of its own revision: while a role is resized, groups of the previous size serve until they are
replaced.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from intent.errors import counted
from intent.inferenceservice.read import RoleIntent
from sync.observed.lws import LeaderWorkerSet
from sync.observed.pod import AcceleratorCounts, ObservedPod

Group = tuple[ObservedPod, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """What a role needs before its next replica, or all others, can be scheduled."""

    pods: int
    accelerators: AcceleratorCounts = ()
    message: str = ""
    """The scheduler's message about one of the pods."""

    def __str__(self) -> str:
        """Return the text for a message: `waits for 32 more nvidia.com/gpu (4 pods)`."""
        if not self.accelerators:
            return f"waits for capacity for {counted(self.pods, 'pod')}"
        amounts = " and ".join(f"{amount} more {resource}" for resource, amount in self.accelerators)
        return f"waits for {amounts} ({counted(self.pods, 'pod')})"


@dataclass(frozen=True, slots=True)
class RoleView:
    """One role with its LeaderWorkerSet and its pods, counted once for all conditions."""

    role: RoleIntent
    lws: LeaderWorkerSet | None = None
    all_pods: tuple[ObservedPod, ...] = ()
    """Its pods, including those that are being deleted."""
    groups: tuple[Group, ...] = ()
    """The pods that are not being deleted, by group."""
    placed: int = 0
    """The number of groups whose pods are all on nodes."""
    ready: int = 0
    """The number of groups whose pods are all ready."""
    desired: int = 1
    """The replicas that it should have: an autoscaler's, else its author's."""
    wait: Wait | None = None
    """What it waits for: its cheapest group if none is scheduled yet, else all that are not.

    None if no pod of them waits for a node.
    """

    @property
    def name(self) -> str:
        """The name of the role."""
        return self.role.name

    @property
    def pods(self) -> Iterator[ObservedPod]:
        """The pods that are not being deleted."""
        return (pod for group in self.groups for pod in group)


def views(
    roles: Iterable[RoleIntent], sets: Mapping[str, LeaderWorkerSet], pods: Iterable[ObservedPod]
) -> Iterator[RoleView]:
    """Yield the views of some roles; `sets` has their LeaderWorkerSets, by the name of the role."""
    by_set: dict[str, list[ObservedPod]] = defaultdict(list)
    for pod in sorted(pods, key=lambda pod: pod.name):
        by_set[pod.lws].append(pod)
    for role in roles:
        lws = sets.get(role.name)
        yield _view(role, lws, tuple(by_set.get(lws.name, ())) if lws else ())


def _view(role: RoleIntent, lws: LeaderWorkerSet | None, pods: tuple[ObservedPod, ...]) -> RoleView:
    found: dict[str, list[ObservedPod]] = defaultdict(list)
    for pod in pods:
        if not pod.deleting:
            found[pod.group].append(pod)
    groups = tuple(tuple(found[index]) for index in sorted(found))
    whole = [group for group in groups if not absent(group, role)]
    placed = sum(all(pod.scheduled for pod in group) for group in whole)
    waiting = [group for group in groups if not all(pod.scheduled for pod in group)]
    cheapest = min((_wait([group], role) for group in waiting), key=_cost, default=None)
    scaled = lws.replicas if lws and (lws.scaler or role.replicas is None) else role.replicas
    return RoleView(
        *(role, lws, pods, groups),
        desired=1 if scaled is None else scaled,
        placed=placed,
        ready=sum(all(pod.ready for pod in group) for group in whole),
        wait=_wait(waiting, role) if placed and waiting else cheapest,
    )


def absent(group: Group, role: RoleIntent) -> int:
    """Return the number of pods of a group that do not exist yet."""
    return max(0, group_size(group, role) - len(group))


def group_size(group: Group, role: RoleIntent) -> int:
    """Return the size of a group. While it is replaced it has pods of two sizes; then the larger one."""
    return max((pod.group_size for pod in group), default=0) or role.nodes


def _wait(groups: list[Group], role: RoleIntent) -> Wait:
    """Return the sum that groups lack; pods that do not exist yet will request what the others do."""
    held = [pod for group in groups for pod in group if not pod.scheduled]
    missing = [group[-1] for group in groups for _ in range(absent(group, role))]
    total: Counter[str] = Counter()
    for pod in (*held, *missing):
        total.update(dict(pod.accelerators))
    message = next((pod.held for pod in held if pod.held), "")
    return Wait(len(held) + len(missing), tuple(sorted(total.items())), message)


def _cost(one: Wait) -> tuple[int, int]:
    return sum(amount for _, amount in one.accelerators), one.pods
