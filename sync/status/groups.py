"""The groups of a role: which are scheduled, which are ready, and what the others wait for.

A group counts as a whole or not at all, as the gang is scheduled and as LeaderWorkerSet counts replicas. Its
size is that of its own revision: while a role is resized, groups of the previous size serve until they are
replaced.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from intent.inferenceservice.read import RoleIntent
from sync.observed.pod import AcceleratorCounts, ObservedPod
from sync.status.inputs import Observed

Group = tuple[ObservedPod, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """What a role needs before its next replica, or all others, can be scheduled."""

    role: str
    pods: int
    accelerators: AcceleratorCounts = ()
    message: str = ""
    """The scheduler's message about one of the pods."""

    def __str__(self) -> str:
        """Return the text for a message: `role decode waits for 32 more nvidia.com/gpu (4 pods)`."""
        return f"role {self.role} {self.lacks}"

    @property
    def lacks(self) -> str:
        """The same text without the role."""
        if not self.accelerators:
            return f"waits for capacity for {counted(self.pods, 'pod')}"
        amounts = " and ".join(f"{amount} more {resource}" for resource, amount in self.accelerators)
        return f"waits for {amounts} ({counted(self.pods, 'pod')})"


def groups(seen: Observed, role: RoleIntent) -> tuple[Group, ...]:
    """Return the pods of a role by group."""
    found: dict[str, list[ObservedPod]] = defaultdict(list)
    for pod in sorted(seen.pods_of(role), key=lambda pod: pod.name):
        found[pod.group].append(pod)
    return tuple(tuple(found[index]) for index in sorted(found))


def placed(seen: Observed, role: RoleIntent) -> int:
    """Return the number of groups whose pods are all on nodes."""
    return sum(_placed(group, role) for group in groups(seen, role))


def ready(seen: Observed, role: RoleIntent) -> int:
    """Return the number of groups whose pods are all ready."""
    return sum(_whole(group, role) and all(pod.ready for pod in group) for group in groups(seen, role))


def updating(seen: Observed, role: RoleIntent) -> bool:
    """Return whether a rolling update of a role is in progress."""
    lws = seen.sets.get(role.name)
    return lws is not None and lws.updating


def wait(seen: Observed, role: RoleIntent) -> Wait | None:
    """Return what a role waits for: its cheapest group if none is scheduled yet, else all that are not.

    None if no pod of them waits for a node.
    """
    all_groups = groups(seen, role)
    waits = [
        _wait(group, role)
        for group in all_groups
        if not _placed(group, role) and any(not pod.scheduled for pod in group)
    ]
    if not waits:
        return None
    if not any(_placed(group, role) for group in all_groups):
        return min(waits, key=lambda one: (sum(amount for _, amount in one.accelerators), one.pods))
    return _together(waits)


def counted(number: int, word: str) -> str:
    """Return a number with its noun: `1 pod`, `4 pods`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def absent(group: Group, role: RoleIntent) -> int:
    """Return the number of pods of a group that do not exist yet."""
    return max(0, group_size(group, role) - len(group))


def group_size(group: Group, role: RoleIntent) -> int:
    """Return the size of a group. While it is replaced it has pods of two sizes; then the larger one."""
    return max((pod.group_size for pod in group), default=0) or role.nodes


def _whole(group: Group, role: RoleIntent) -> bool:
    return not absent(group, role)


def _placed(group: Group, role: RoleIntent) -> bool:
    return _whole(group, role) and all(pod.scheduled for pod in group)


def _wait(group: Group, role: RoleIntent) -> Wait:
    """Return the sum that a group lacks; pods that do not exist yet will request what the others do."""
    held = [pod for pod in group if not pod.scheduled]
    missing = absent(group, role)
    total: Counter[str] = Counter()
    for amounts in (*(pod.accelerators for pod in held), *([group[-1].accelerators] * missing)):
        total.update(dict(amounts))
    message = next((pod.held for pod in held if pod.held), "")
    return Wait(role.name, len(held) + missing, tuple(sorted(total.items())), message)


def _together(waits: list[Wait]) -> Wait:
    total: Counter[str] = Counter()
    for one in waits:
        total.update(dict(one.accelerators))
    message = next((one.message for one in waits if one.message), "")
    return Wait(waits[0].role, sum(one.pods for one in waits), tuple(sorted(total.items())), message)
