"""`status.components` and `status.ready`: the replica counts and the phase of every role."""

from collections.abc import Callable, Sequence
from typing import Final

from intent import Object
from intent.inferenceservice.v1alpha1 import Phase
from intent.shapes import mapping
from sync.status.compare import dated
from sync.status.failures import failing
from sync.status.groups import RoleView
from sync.status.inputs import Observed, behind

PHASES: Final[tuple[tuple[Phase, str, Callable[[Observed, RoleView], bool]], ...]] = (
    (
        "Failed",
        "a container keeps failing, or failed in this generation and not all replicas have been ready since",
        failing,
    ),
    (
        "Pending",
        "its LeaderWorkerSet does not exist yet, or none of its pods is on a node",
        lambda _seen, role: role.desired > 0 and not any(pod.scheduled for pod in role.pods),
    ),
    (
        "Deploying",
        "some pods are on nodes, and not all replicas are ready and of the present template",
        lambda _seen, role: role.ready < role.desired or role.is_updating,
    ),
    (
        "Unknown",
        "it looks complete, but its objects do not report the present generation yet",
        lambda seen, role: bool(behind(seen)) or role.lws is None,
    ),
    ("Running", "every replica is ready", lambda _seen, _role: True),
)
"""Phases, their meaning and their predicate; the first that holds is the phase of the role."""


def components(seen: Observed, before: Object, now: str) -> Object:
    """Return the component of every role; `before` is the stored `status.components`."""
    return {role.name: _dated(_component(seen, role), before.get(role.name), now) for role in seen.roles}


def ready_counts(seen: Observed) -> Object:
    """Return `status.ready`: ready and desired replicas of all roles."""
    return {"replicas": _ratio(seen.roles)} if seen.roles else {}


def _ratio(roles: Sequence[RoleView]) -> str:
    """Return ready and desired replicas of some roles: `2/3`."""
    return f"{sum(role.ready for role in roles)}/{sum(role.desired for role in roles)}"


def phase(seen: Observed, role: RoleView) -> Phase:
    """Return the phase of a role."""
    return next(word for word, _, holds in PHASES if holds(seen, role))


def _component(seen: Observed, role: RoleView) -> Object:
    return {
        "desiredReplicas": role.desired,
        "readyReplicas": role.ready,
        "nodesPerReplica": role.role.nodes,
        "totalPods": role.desired * role.role.nodes,
        "readyPods": sum(pod.ready for pod in role.pods),
        "phase": phase(seen, role),
        "ready": _ratio((role,)),
    }


def _dated(component: Object, before: object, now: str) -> Object:
    """Add `lastUpdateTime`: the stored time if nothing changed, else `now`."""
    old = mapping(before)
    return component | {"lastUpdateTime": dated(old.get("lastUpdateTime"), now, same=old | component == old)}
