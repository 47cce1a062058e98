"""Decides whose the replicas of a role are: its author's, or an autoscaler's.

Rules of this file:
1. The controller never reverts an autoscaler: groups of GPUs would start and stop forever.
2. Where an autoscaler scales a role that sets `replicas`, a finding says so. A change of `replicas` is
 applied once.
3. An autoscaler that is gone has no say: `replicas` is applied again. Whether one of Kubernetes' own is gone
 is known, since all of them are watched; of others only the field manager is known.
"""

from collections.abc import Iterator
from typing import Final

from intent.errors import FieldError
from intent.inferenceservice.members import member_name
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent
from sync.kinds import AUTOSCALER, LWS, is_ours
from sync.observed.autoscaler import MANAGER
from sync.observed.lws import LeaderWorkerSet
from sync.snapshot import Snapshot

CONTESTED: Final = "FI875"
TWICE: Final = "FI878"
IDLE: Final = "FI879"


def left_alone(snapshot: Snapshot, service: InferenceServiceIntent) -> frozenset[str]:
    """Return the LeaderWorkerSets whose replicas an autoscaler changed although their role sets them."""
    sets = _reports(snapshot)
    named = ((role, sets.get(member_name(service, role))) for role in service.roles)
    return frozenset(row.name for role, row in named if row and _is_left(snapshot, role, row))


def scaling_errors(snapshot: Snapshot, service: InferenceServiceIntent) -> Iterator[FieldError]:
    """Report roles that two parties scale (FI875, FI878), and autoscalers that do not scale (FI879)."""
    sets = _reports(snapshot)
    for role in service.roles:
        name, path = member_name(service, role), f"spec.roles[{role.index}]"
        others, row = _others(snapshot, name), sets.get(name)
        if role.scaling is not None:
            yield from _of_scaling(snapshot, name, others, f"{path}.scaling")
        elif row and _is_left(snapshot, role, row):
            by = others[0] if others else row.scaler
            message = f"{by} scaled LeaderWorkerSet {name} to {row.replicas} and keeps control"
            yield FieldError(f"{path}.replicas", role.replicas, message, CONTESTED)
        elif role.replicas is not None and others:
            message = f"{others[0]} scales LeaderWorkerSet {name} too"
            yield FieldError(f"{path}.replicas", role.replicas, message, CONTESTED)


def _of_scaling(snapshot: Snapshot, name: str, others: tuple[str, ...], path: str) -> Iterator[FieldError]:
    """Report other autoscalers, or else why that of the role does not scale."""
    if others:
        message = f"{others[0]} scales LeaderWorkerSet {name} too: Kubernetes scales it by neither"
        yield FieldError(path, None, message, TWICE)
        return
    for row in snapshot.of(AUTOSCALER):
        if row.name == name and row.applied and row.projection.problem:
            message = f"{row.projection.described} does not scale: {row.projection.problem}"
            yield FieldError(path, None, message, IDLE)


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
        row.projection.described
        for row in snapshot.of(AUTOSCALER)
        if row.projection.target == name and not (row.deleting or is_ours(AUTOSCALER, row, service, owners))
    )


def _reports(snapshot: Snapshot) -> dict[str, LeaderWorkerSet]:
    """Return what the LeaderWorkerSets of InferenceServices report, by name."""
    return {row.name: row.projection.report for row in snapshot.of(LWS) if row.projection.report}
