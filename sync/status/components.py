"""`status.components`: the replica counts and the phase of every role."""

from collections.abc import Callable
from typing import Final

from intent import Object
from intent.inferenceservice.read import RoleIntent
from intent.inferenceservice.v1alpha1 import Phase
from intent.shapes import mapping
from sync.status.compare import dated
from sync.status.failures import failing
from sync.status.groups import ready, updating
from sync.status.inputs import Observed, behind, desired

PHASES: Final[tuple[tuple[Phase, str, Callable[[Observed, RoleIntent], bool]], ...]] = (
    (
        "Failed",
        "a container keeps failing, or failed in this generation and not all replicas have been ready since",
        failing,
    ),
    (
        "Pending",
        "its LeaderWorkerSet does not exist yet, or none of its pods is on a node",
        lambda seen, role: desired(seen, role) > 0 and not any(pod.scheduled for pod in seen.pods_of(role)),
    ),
    (
        "Deploying",
        "some pods are on nodes, and not all replicas are ready and of the present template",
        lambda seen, role: ready(seen, role) < desired(seen, role) or updating(seen, role),
    ),
    (
        "Unknown",
        "it looks complete, but its objects do not report the present generation yet",
        lambda seen, role: bool(behind(seen)) or role.name not in seen.sets,
    ),
    ("Running", "every replica is ready", lambda _seen, _role: True),
)
"""Phases, their meaning and their predicate; the first that holds is the phase of the role."""


def components(seen: Observed, before: Object, now: str) -> Object:
    """Return the component of every role; `before` is the stored `status.components`."""
    return {
        role.name: _dated(_component(seen, role), before.get(role.name), now) for role in seen.service.roles
    }


def phase(seen: Observed, role: RoleIntent) -> Phase:
    """Return the phase of a role."""
    return next(word for word, _, holds in PHASES if holds(seen, role))


def _component(seen: Observed, role: RoleIntent) -> Object:
    replicas = desired(seen, role)
    return {
        "desiredReplicas": replicas,
        "readyReplicas": ready(seen, role),
        "nodesPerReplica": role.nodes,
        "totalPods": replicas * role.nodes,
        "readyPods": sum(pod.ready for pod in seen.pods_of(role)),
        "phase": phase(seen, role),
    }


def _dated(component: Object, before: object, now: str) -> Object:
    """Add `lastUpdateTime`: the stored time if nothing changed, else `now`."""
    old = mapping(before)
    same = all(old.get(key) == value for key, value in component.items())
    return component | {"lastUpdateTime": dated(old.get("lastUpdateTime"), now, same=same)}
