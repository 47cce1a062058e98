"""The LeaderWorkerSets of an InferenceService, and their autoscalers.

The replicas of a role are its author's, or an autoscaler's.

Rules of this file:
1. The controller never reverts an autoscaler: groups of GPUs would start and stop forever.
2. Where an autoscaler scales a role that sets `replicas`, a finding says so. A change of `replicas` is
 applied once.
3. An autoscaler that is gone has no say: `replicas` is applied again. Whether one of Kubernetes' own is gone
 is known, since all of them are watched; of others only the field manager is known.
"""

from collections.abc import Iterator
from typing import Final

from intent import Object
from intent.annotations import SERVICE
from intent.errors import FieldError, Finding
from intent.inferenceservice.members import leader_worker_sets as written
from intent.inferenceservice.members import member_name
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent
from sync.kinds import AUTOSCALER, LWS, is_ours
from sync.observed.autoscaler import API_VERSION, MANAGER
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.lws import LeaderWorkerSet
from sync.parts.desired import Desired, metadata, service_reference
from sync.parts.templates import versioned
from sync.snapshot import Snapshot

CONTESTED: Final = "FI875"
TWICE: Final = "FI878"
SETS: Final = frozenset({LWS.kind, AUTOSCALER.kind})
"""Users manage LeaderWorkerSets of their own, and the autoscalers of these."""


def sets(snapshot: Snapshot, service: CachedInferenceService) -> Desired:
    """Desire a LeaderWorkerSet for each role of an InferenceService, and the autoscalers."""
    findings = tuple(Finding(service.subject, error) for error in service.errors)
    held = SETS if findings else frozenset[str]()
    if snapshot.value is None:
        return Desired((), held, findings)
    left = left_alone(snapshot, snapshot.value)
    made = (
        _without_replicas(obj) if obj["metadata"]["name"] in left else obj
        for obj in versioned(leader_worker_sets(snapshot.value), snapshot)
    )
    scaling = (Finding(service.subject, error) for error in scaling_errors(snapshot, snapshot.value))
    return Desired((*made, *autoscalers(snapshot.value)), held, (*findings, *scaling))


def leader_worker_sets(service: InferenceServiceIntent) -> tuple[Object, ...]:
    """Render the LeaderWorkerSets as a user could write them, in the order of the roles.

    They have their owner, and the label by which the controller finds them even without admission.
    """
    return tuple(lws | {"metadata": lws["metadata"] | _ours(lws, service)} for lws in written(service))


def _ours(lws: Object, service: InferenceServiceIntent) -> Object:
    labels = lws["metadata"].get("labels", {}) | {SERVICE: service.name}
    return {"labels": labels, "ownerReferences": [service_reference(service)]}


def _without_replicas(lws: Object) -> Object:
    spec = {key: value for key, value in lws["spec"].items() if key != "replicas"}
    return lws | {"spec": spec}


def autoscalers(service: InferenceServiceIntent) -> Iterator[Object]:
    """Render the HorizontalPodAutoscaler of each role with `scaling`: it has the name of what it scales."""
    for role in service.roles:
        if role.scaling is not None:
            name = member_name(service, role)
            target = {"apiVersion": LWS.resource.api_version, "kind": LWS.kind, "name": name}
            yield {
                "apiVersion": API_VERSION,
                "kind": AUTOSCALER.kind,
                "metadata": metadata((service.namespace, service.name), name, (service_reference(service),)),
                "spec": {**role.scaling, "scaleTargetRef": target},
            }


# --- replicas ---------------------------------------------------------------------------------------


def left_alone(snapshot: Snapshot, service: InferenceServiceIntent) -> frozenset[str]:
    """Return the LeaderWorkerSets whose replicas an autoscaler changed although their role sets them."""
    reports = snapshot.reports
    named = ((role, reports.get(member_name(service, role))) for role in service.roles)
    return frozenset(row.name for role, row in named if row and _is_left(snapshot, role, row))


def scaling_errors(snapshot: Snapshot, service: InferenceServiceIntent) -> Iterator[FieldError]:
    """Report roles that two parties scale (FI875, FI878)."""
    reports = snapshot.reports
    for role in service.roles:
        name, path = member_name(service, role), f"spec.roles[{role.index}]"
        others, row = _others(snapshot, name), reports.get(name)
        if role.scaling is not None:
            if others:
                message = f"{others[0]} scales LeaderWorkerSet {name} too: Kubernetes scales it by neither"
                yield FieldError(f"{path}.scaling", None, message, TWICE)
        elif row and _is_left(snapshot, role, row):
            by = others[0] if others else row.scaler
            message = f"{by} scaled LeaderWorkerSet {name} to {row.replicas} and keeps control"
            yield FieldError(f"{path}.replicas", role.replicas, message, CONTESTED)
        elif role.replicas is not None and others:
            message = f"{others[0]} scales LeaderWorkerSet {name} too"
            yield FieldError(f"{path}.replicas", role.replicas, message, CONTESTED)


def _is_left(snapshot: Snapshot, role: RoleIntent, row: LeaderWorkerSet) -> bool:
    """Return whether the replicas of a role are those of an autoscaler, and stay."""
    if role.replicas in (None, row.replicas) or role.name in snapshot.claimed:
        return False
    is_known = row.scaler == MANAGER and AUTOSCALER.kind not in snapshot.unknown
    return bool(row.scaler) and (not is_known or bool(_others(snapshot, row.name)))


def _others(snapshot: Snapshot, name: str) -> tuple[str, ...]:
    """Return the autoscalers of a LeaderWorkerSet that the controller did not make."""
    service, owners = snapshot.situation.key[1], snapshot.owners
    return tuple(
        f"{AUTOSCALER.kind} {row.name}"
        for row in snapshot.of(AUTOSCALER)
        if row.projection == name and not (row.deleting or is_ours(AUTOSCALER, row, service, owners))
    )
