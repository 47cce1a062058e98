"""The LeaderWorkerSets of an InferenceService: one per role, as a user could have written them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from intent import Object
from intent.annotations import (
    BASE_REFS,
    COMPONENT_TYPE,
    ENDPOINT_PICKER_CONFIG,
    NO_ROUTING,
    PARALLELISM,
    PICKER,
    PREFIX,
    ROLE_NAME,
    ROLES,
    ROUTING_KEYS,
    SCHEDULER_NAME,
    SERVICE,
    SIDECAR,
    STRATEGY,
    path,
)
from intent.errors import FieldError
from intent.inferenceservice.affinity import restrict
from intent.inferenceservice.read import CARRIED, InferenceServiceIntent, RoleIntent
from intent.inferenceservice.topology import ELSEWHERE, ROUTERS
from intent.lws import LWT
from intent.shapes import annotations


def leader_worker_sets(service: InferenceServiceIntent) -> tuple[Object, ...]:
    """Render all roles with an engine, in the order of `spec.roles`."""
    return tuple(leader_worker_set(service, role) for role in service.roles)


def leader_worker_set(service: InferenceServiceIntent, role: RoleIntent) -> Object:
    """Render one role."""
    replicas = {} if role.replicas is None else {"replicas": role.replicas}
    rollout = {"rolloutStrategy": role.rollout} if role.rollout else {}
    group = {"size": role.nodes, **_templates(role)}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": member_name(service, role),
            **({"namespace": service.namespace} if service.namespace else {}),
            "annotations": dict(_annotations(service, role)),
        },
        "spec": {**replicas, **rollout, "leaderWorkerTemplate": group},
    }


def _templates(role: RoleIntent) -> Object:
    """Return the pod templates. With one template alone, leader and workers share it."""
    if role.worker is None:
        return {"workerTemplate": restrict(role.template, role.accelerators)}
    return {
        "leaderTemplate": restrict(role.template, role.accelerators),
        "workerTemplate": restrict(role.worker, role.accelerators),
    }


def member_name(service: InferenceServiceIntent, role: RoleIntent) -> str:
    """Return the name of a role's LeaderWorkerSet."""
    return f"{service.name}-{role.name}"


def _annotations(service: InferenceServiceIntent, role: RoleIntent) -> Iterator[tuple[str, str]]:
    """Yield the annotations that opt in, then the carried ones; those of the role override the service's."""
    yield SERVICE, service.name
    yield COMPONENT_TYPE, role.component_type
    yield ROLE_NAME, role.name
    if role.component_type != "worker":
        yield ROLES, ",".join(member.name for member in service.roles)
    if role.base_refs:
        yield BASE_REFS, ",".join(role.base_refs)
    yield from service.model
    if role.parallelism:
        yield PARALLELISM, role.parallelism
    if service.scheduler:
        yield SCHEDULER_NAME, service.scheduler
    routing = service.router.routing if service.router else NO_ROUTING
    if routing.strategy:
        yield STRATEGY, routing.strategy
        if routing.picker:
            yield PICKER, routing.picker
    if options := str(role.sidecar):
        yield SIDECAR, options
    carried = {**dict(service.annotations), **annotations(role.template)}
    yield from ((key, carried[key]) for key in CARRIED if isinstance(carried.get(key), str))


# --- findings on members, as findings on the InferenceService -----------------------------------------

_TEMPLATES: Final = (
    (f"{LWT}.leaderTemplate", "spec.roles[{role}].template"),
    (f"{LWT}.workerTemplate", "spec.roles[{role}].{workers}"),
)
_FIELDS: Final = (
    *_TEMPLATES,
    (f"{LWT}.size", "spec.roles[{role}].multinode.nodeCount"),
    (LWT, "spec.roles[{role}]"),
    ("spec.replicas", "spec.roles[{role}].replicas"),
    ("spec.rolloutStrategy", "spec.roles[{role}].rolloutStrategy"),
    ("metadata.name", "spec.roles[{role}].name"),
    *((path(key), field) for key, field in ELSEWHERE.items()),
)
"""The source of each field of a LeaderWorkerSet; the first row whose path is a prefix applies."""

REFS: Final = ELSEWHERE[BASE_REFS]
CONFIG_REF: Final = "spec.roles[{router}].configRef"
ROUTING: Final = tuple(row.key for row in ROUTING_KEYS.values() if row.key in ELSEWHERE)
"""Annotations of members that the fields of the router replace."""


def authored(error: FieldError, service: InferenceServiceIntent, role: RoleIntent) -> FieldError:
    """Move a finding on a rendered LeaderWorkerSet to the field of the InferenceService."""
    for rendered, field in _FIELDS:
        if error.path.startswith(rendered):
            router = service.router.index if service.router else ""
            workers = "template" if role.worker is None else "worker"
            where = field.format(role=role.index, router=router, workers=workers)
            if where == REFS and role.has_own_refs:
                where = f"spec.roles[{role.index}].baseRefs"
            if error.part:
                where = f"{where}.{error.part}"
            return _reworded(replace(error, path=where + error.path.removeprefix(rendered)), service, role)
    carried = next(
        (key for key in CARRIED if error.path == path(key) and key in annotations(role.template)), None
    )
    path_of = error.path if carried is None else f"spec.roles[{role.index}].template.{error.path}"
    return _reworded(replace(error, path=path_of), service, role)


def authored_routing(error: FieldError, service: InferenceServiceIntent) -> FieldError | None:
    """Move a finding on the routing of members to the field of the router; None if it has none."""
    if service.router is None:
        return None
    if error.path in map(path, ROUTERS):
        return error
    field = next((ELSEWHERE[key] for key in ROUTING if error.path == path(key)), "")
    if service.router.config_ref and error.path == path(ENDPOINT_PICKER_CONFIG):
        field = CONFIG_REF
    return replace(error, path=field.format(router=service.router.index)) if field else None


def _reworded(error: FieldError, service: InferenceServiceIntent, role: RoleIntent) -> FieldError:
    """Replace fields and annotations of the LeaderWorkerSet in the message by those of the author."""
    message = error.message.replace(f"{LWT}.size", "multinode.nodeCount")
    router = service.router.index if service.router else ""
    workers = "template" if role.worker is None else "worker"
    for rendered, field in _TEMPLATES if LWT in message else ():
        message = message.replace(rendered, field.format(role=role.index, workers=workers))
    for key, field in ELSEWHERE.items() if PREFIX in message else ():
        message = message.replace(key, field.format(role=role.index, router=router))
    return replace(error, message=message)
