"""`status.components` and `status.ready`: the replica counts and the phase of every role."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from intent import Object
from intent.annotations import ComponentType
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
OF_TYPES: Final[Mapping[str, ComponentType]] = {
    "workers": "worker",
    "prefillers": "prefiller",
    "decoders": "decoder",
    "encoders": "encoder",
}
"""The fields of `status.ready` by component type."""


def components(seen: Observed, before: Object, now: str) -> Object:
    """Return the component of every role; `before` is the stored `status.components`."""
    return {
        role.name: _dated(_component(seen, role), before.get(role.name), now) for role in seen.service.roles
    }


def ready_counts(seen: Observed) -> Object:
    """Return `status.ready`: counts of all roles, of each component type, and of the picker."""
    counts = {"replicas": _ratio(seen, seen.service.roles)} if seen.service.roles else {}
    for word, kind in OF_TYPES.items():
        if roles := [role for role in seen.service.roles if role.component_type == kind]:
            counts[word] = _ratio(seen, roles)
    picker = seen.routes.picker if seen.routes else None
    return {**counts, **({"endpointPicker": f"{picker.ready}/{picker.replicas}"} if picker else {})}


def _ratio(seen: Observed, roles: Iterable[RoleIntent]) -> str:
    """Return ready and desired replicas of some roles: `2/3`."""
    pairs = [(ready(seen, role), desired(seen, role)) for role in roles]
    return f"{sum(one for one, _ in pairs)}/{sum(one for _, one in pairs)}"


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
        "ready": _ratio(seen, (role,)),
    }


def _dated(component: Object, before: object, now: str) -> Object:
    """Add `lastUpdateTime`: the stored time if nothing changed, else `now`."""
    old = mapping(before)
    same = all(old.get(key) == value for key, value in component.items())
    return component | {"lastUpdateTime": dated(old.get("lastUpdateTime"), now, same=same)}
