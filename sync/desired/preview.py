"""What the loop would make of services that stand in files: no API server, no uids, no status.

The LeaderWorkerSets of an InferenceService are left out: they go through admission, and come in as members.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from intent import Object
from intent.errors import Finding
from intent.inferenceservice.read import InferenceServiceIntent
from intent.lws import KIND as LWS
from intent.names import picker_name
from intent.service.member import Member, ServiceKey, services
from intent.settings import Settings
from sync.desired.service import desired_state, together
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.snapshot import Situation, Snapshot


@dataclass(frozen=True, slots=True)
class Preview:
    """Objects without ownerReferences, and what is wrong or missing."""

    objects: tuple[Object, ...]
    findings: tuple[Finding, ...]


def preview(
    members: Iterable[Member],
    settings: Settings,
    asked: Iterable[InferenceServiceIntent] = (),
) -> Preview:
    """Plan and render every service of the given members and InferenceServices, in the order of the loop."""
    members = tuple(members)
    found = services(members)
    requests = {(one.namespace, one.name): _requested(one) for one in asked}
    keys: tuple[ServiceKey, ...] = tuple({**found, **requests})
    named = {(one.namespace, one.name): one.subject for one in members}
    snapshots = [
        Snapshot(
            Situation(key, found.get(key, ())),
            requests.get(key),
            namesake=named.get((key[0], picker_name(key[1]))),
        )
        for key in keys
    ]
    desired = together(desired_state(snapshot, settings) for snapshot in snapshots)
    return Preview(tuple(obj for obj in desired.objects if obj["kind"] != LWS), desired.said)


def _requested(service: InferenceServiceIntent) -> CachedInferenceService:
    return CachedInferenceService(service.namespace, service.name, service.uid, service.generation, service)
