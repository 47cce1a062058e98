"""The pods that a Service or an InferencePool selects, and their ports: what a pod serves stands on the pod.

Pods of several revisions of a template are in one service, for ever where a rolling update stops at a
partition. So all pods of the groups are selected, and all of their ports, only once each pod says so; a
leader always serves.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from intent import Object
from intent.annotations import COMPONENT_TYPE, COMPONENT_TYPES, LEADER_LABELS, SERVING_LABELS
from intent.gang import ENCODER
from intent.service.member import Member
from intent.service.routes import serving_members
from sync.observed.pod import ObservedPod

WORKER: Final = "worker"


class Endpoints(NamedTuple):
    """The pods of a service that answer, by their labels, and their ports, the first of which all have."""

    ports: tuple[int, ...]
    everywhere: bool = False
    kind: str = ""
    """The component type of workers, if there are pods of others: prefillers and decoders share a pool."""

    @property
    def selector(self) -> Object:
        """The labels of these pods, beside those of the service."""
        kind = {COMPONENT_TYPE: self.kind} if self.kind else {}
        return kind | (SERVING_LABELS if self.everywhere else LEADER_LABELS)


def endpoints(
    members: tuple[Member, ...], pods: Collection[ObservedPod] | None, *, picks: bool = False
) -> Endpoints:
    """Return the endpoints of members, whose pods are `pods`: offline none, and None if they are not known.

    `picks`: an endpoint picker reads from each pod which of the ports it serves on. Pods of another component
    type may outlive their member, and be there before it is known. Pods of none are of no LeaderWorkerSet.
    """
    there = {one.component_type for one in members} | {one.component_type for one in pods or ()} - {""}
    members = serving_members(members)
    is_worker = all(one.component_type == WORKER for one in members)
    kind = WORKER if is_worker and there - {WORKER} else ""
    if pods is None:
        return Endpoints(members[0].ports[:1], kind=kind)
    selected = {WORKER} if is_worker else {*COMPONENT_TYPES} - {ENCODER}
    live = [pod for pod in pods if not pod.deleting and pod.component_type in selected]
    everywhere = all(one.serving.everywhere for one in members) and all(pod.everywhere for pod in live)
    ports = tuple(dict.fromkeys(port for one in members for port in one.ports))
    named = [[port for port in pod.ports.split(",") if port.isdecimal() and len(port) < 6] for pod in live]
    said = [{*map(int, ports_of_pod)} for ports_of_pod in named]
    if not (picks and all(said)):
        of_each = [*(set(one.ports) for one in members), *(one or {members[0].port} for one in said)]
        common = set(ports).intersection(*of_each)
        ports = tuple(port for port in ports if port in common) or members[0].ports[:1]
    return Endpoints(ports, everywhere, kind)
