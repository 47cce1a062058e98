"""The LeaderWorkerSets of an InferenceService, and their autoscalers.

The replicas of a role are its author's, or an autoscaler's.

Rules of this file:
1. The controller never reverts an autoscaler: groups of GPUs would start and stop forever.
2. Where an autoscaler scales a role that sets `replicas`, a finding says so. A change of `replicas` is
 applied once.
3. An autoscaler that is gone has no say: `replicas` is applied again. Whether one of Kubernetes' own is gone
 is known, since all of them are watched; of others only the field manager is known.
4. Admission reads templates, and keeps their content. For a service that follows them an annotation has their
 version: when it changes, admission reads them again.
"""

from collections.abc import Iterator
from typing import Final

from intent import Object
from intent.annotations import TEMPLATES_VERSION
from intent.errors import FieldError, Finding
from intent.inferenceservice.members import leader_worker_set, member_name
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent
from intent.service.routes import named_like_picker
from sync.kinds import AUTOSCALER, LWS, is_ours
from sync.observed.autoscaler import MANAGER
from sync.observed.cached import digest
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.lws import LeaderWorkerSet
from sync.parts.desired import Desired, manifest, service_reference
from sync.snapshot import Snapshot

CONTESTED: Final = "FI875"
TWICE: Final = "FI878"
SETS: Final = frozenset({LWS.kind, AUTOSCALER.kind})
"""Users manage LeaderWorkerSets of their own, and the autoscalers of these."""
LENGTH: Final = 16
"""Characters of a version of templates."""


def sets(snapshot: Snapshot, service: CachedInferenceService) -> Desired:
    """Desire a LeaderWorkerSet for each role of an InferenceService, and the autoscalers."""
    value, errors, objects = snapshot.value, list(service.errors), list[Object]()
    held = SETS if errors or _takes_name_of_picker(value) else frozenset[str]()
    if value is not None:
        for role in value.roles:
            name = member_name(value, role)
            stored, others = snapshot.reports.get(name), _others(snapshot, name)
            is_left = _is_left(snapshot, role, stored, others)
            objects.append(_leader_worker_set(snapshot, value, role, is_left=is_left))
            errors += _scaled_twice(role, name, others, stored if is_left else None)
        objects += _autoscalers(value)
    return Desired(tuple(objects), held, tuple(Finding(service.subject, error) for error in errors))


def _takes_name_of_picker(service: InferenceServiceIntent | None) -> bool:
    """Return whether a role breaks FI821, which is reported on its LeaderWorkerSet once that exists."""
    if service is None or service.router is None:
        return False
    return any(named_like_picker(member_name(service, role), service.name) for role in service.roles)


def _leader_worker_set(
    snapshot: Snapshot, service: InferenceServiceIntent, role: RoleIntent, *, is_left: bool
) -> Object:
    """Render the LeaderWorkerSet of a role as a user could write it, without replicas that are left alone.

    It has its owner, and the label by which the controller finds it even without admission.
    """
    written, version = leader_worker_set(service, role), _version(snapshot, service, role)
    name, notes = written["metadata"]["name"], written["metadata"]["annotations"]
    notes |= {TEMPLATES_VERSION: version} if version else {}
    spec = {key: field for key, field in written["spec"].items() if not (is_left and key == "replicas")}
    made = manifest(LWS.kind, snapshot.situation.key, name, (service_reference(service),), spec=spec)
    return {**made, "metadata": {**made["metadata"], "annotations": notes}}


def _version(snapshot: Snapshot, service: InferenceServiceIntent, role: RoleIntent) -> str:
    """Return the version of a role's templates: while not known, or not followed, the stored one.

    Without the stored one admission would read the templates again.
    """
    named, stored = snapshot.templates, snapshot.reports.get(member_name(service, role))
    sources = [named.source(name) for name in role.base_refs]
    if not sources:
        return ""
    if not service.follows or named.trouble or None in sources:
        return stored.templates_version if stored else ""
    return digest([list(one) for one in sources if one]).hex()[:LENGTH]


def _autoscalers(service: InferenceServiceIntent) -> Iterator[Object]:
    """Render the HorizontalPodAutoscaler of each role with `scaling`: it has the name of what it scales."""
    for role in service.roles:
        if role.scaling is not None:
            name = member_name(service, role)
            target = {"apiVersion": LWS.resource.api_version, "kind": LWS.kind, "name": name}
            spec = {**role.scaling, "scaleTargetRef": target}
            key, owner = (service.namespace, service.name), service_reference(service)
            yield manifest(AUTOSCALER.kind, key, name, (owner,), spec=spec)


# --- replicas ---------------------------------------------------------------------------------------


def _scaled_twice(
    role: RoleIntent, name: str, others: tuple[str, ...], left: LeaderWorkerSet | None
) -> Iterator[FieldError]:
    """Report a role that two parties scale (FI875, FI878); `left`: its replicas are left to an autoscaler."""
    path = f"spec.roles[{role.index}]"
    if role.scaling is not None and others:
        message = f"{others[0]} scales LeaderWorkerSet {name} too: Kubernetes scales it by neither"
        yield FieldError(f"{path}.scaling", None, message, TWICE)
    elif left:
        by = others[0] if others else left.scaler
        message = f"{by} scaled LeaderWorkerSet {name} to {left.replicas} and keeps control"
        yield FieldError(f"{path}.replicas", role.replicas, message, CONTESTED)
    elif role.replicas is not None and others:
        message = f"{others[0]} scales LeaderWorkerSet {name} too"
        yield FieldError(f"{path}.replicas", role.replicas, message, CONTESTED)


def _is_left(
    snapshot: Snapshot, role: RoleIntent, stored: LeaderWorkerSet | None, others: tuple[str, ...]
) -> bool:
    """Return whether the replicas of a role are those of an autoscaler, and stay."""
    if stored is None or role.replicas in (None, stored.replicas) or role.name in snapshot.claimed:
        return False
    is_known = stored.scaler == MANAGER and AUTOSCALER.kind not in snapshot.unknown
    return bool(stored.scaler) and (not is_known or bool(others))


def _others(snapshot: Snapshot, name: str) -> tuple[str, ...]:
    """Return the autoscalers of a LeaderWorkerSet that the controller did not make."""
    service, owners = snapshot.situation.key[1], snapshot.owners
    return tuple(
        f"{AUTOSCALER.kind} {row.name}"
        for row in snapshot.of(AUTOSCALER)
        if row.target == name and not (row.deleting or is_ours(AUTOSCALER, row, service, owners))
    )
