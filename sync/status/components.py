"""The roles in the status: replica counts, phases, and failures that do not pass."""

from collections.abc import Callable, Sequence
from typing import Final

from catalog.codes import CODES
from intent import Object
from intent.inferenceservice.v1alpha1 import Phase
from sync.status.groups import RoleView
from sync.status.observed import Observed, behind


def failing(seen: Observed, role: RoleView) -> bool:
    """Return whether a pod of a role keeps failing, or did before and the role is not complete since."""
    if any(pod.failure for pod in role.all_pods):
        return True
    return role.name in seen.failed and role.ready < role.desired


def crash(seen: Observed) -> str:
    """Return the first pod that keeps failing, with a remedy; empty if there is none."""
    roles = [role for role in seen.roles if failing(seen, role)]
    pods = (pod for role in roles for pod in role.all_pods if pod.failure)
    first = min(pods, key=lambda pod: pod.name, default=None)
    if first and (failure := first.failure):
        container = f", container {failure.container}" if failure.container else ""
        message = f": {failure.message}" if failure.message else ""
        remedy = CODES[failure.code].remedy.replace("POD", first.name)
        return f"pod {first.name}{container}: {failure.reason}{message} ({failure.code}: {remedy})"
    lost = f"a pod of role {roles[0].name} failed, and it is not complete since" if roles else ""
    return lost and (seen.failure or lost)


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
        lambda _seen, role: role.ready < role.desired or (role.lws is not None and role.lws.updating),
    ),
    (
        "Unknown",
        "it looks complete, but its objects do not report the present generation yet",
        lambda seen, role: bool(behind(seen)) or role.lws is None,
    ),
    ("Running", "every replica is ready", lambda _seen, _role: True),
)
"""Phases, their meaning and their predicate; the first that holds is the phase of the role."""


def ratio(roles: Sequence[RoleView]) -> str:
    """Return ready and desired replicas of some roles: `2/3`."""
    return f"{sum(role.ready for role in roles)}/{sum(role.desired for role in roles)}"


def phase(seen: Observed, role: RoleView) -> Phase:
    """Return the phase of a role."""
    return next(word for word, _, holds in PHASES if holds(seen, role))


def component(seen: Observed, role: RoleView) -> Object:
    """Return the component of a role, without its time."""
    return {
        "desiredReplicas": role.desired,
        "readyReplicas": role.ready,
        "nodesPerReplica": role.role.nodes,
        "totalPods": role.desired * role.role.nodes,
        "readyPods": sum(pod.ready for pod in role.pods),
        "phase": phase(seen, role),
        "ready": ratio((role,)),
    }
