"""The groups of a role: which are scheduled, which are ready, and what the others wait for.

A group counts as a whole or not at all, as the gang is scheduled and as LeaderWorkerSet counts replicas.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from intent.inferenceservice.read import RoleIntent
from sync.observed.pod import Amounts, ObservedPod
from sync.status.inputs import Observed

Group = tuple[ObservedPod, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """What a role needs before its next replica, or all others, can be scheduled."""

    role: str
    pods: int
    accelerators: Amounts = ()
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


def _whole(group: Group, role: RoleIntent) -> bool:
    return len(group) >= role.nodes


def _placed(group: Group, role: RoleIntent) -> bool:
    return _whole(group, role) and all(pod.scheduled for pod in group)


def _wait(group: Group, role: RoleIntent) -> Wait:
    """Return the sum that a group lacks; pods that do not exist yet will request what the others do."""
    held = [pod for pod in group if not pod.scheduled]
    absent = max(0, role.nodes - len(group))
    total: Counter[str] = Counter()
    for amounts in (*(pod.accelerators for pod in held), *([group[-1].accelerators] * absent)):
        total.update(dict(amounts))
    message = next((pod.held for pod in held if pod.held), "")
    return Wait(role.name, len(held) + absent, tuple(sorted(total.items())), message)


def _together(waits: list[Wait]) -> Wait:
    total: Counter[str] = Counter()
    for one in waits:
        total.update(dict(one.accelerators))
    message = next((one.message for one in waits if one.message), "")
    return Wait(waits[0].role, sum(one.pods for one in waits), tuple(sorted(total.items())), message)
