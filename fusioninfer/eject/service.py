"""What a cluster holds for one service, as the API server returns it."""

from dataclasses import dataclass

from intent import Object
from intent.service.member import ejected, member
from sync.kinds import OUTPUTS, is_ours


@dataclass(frozen=True, slots=True)
class LiveService:
    """What the cluster holds for one service, as the API server returns it."""

    namespace: str
    name: str
    inferenceservice: Object | None = None
    sets: tuple[Object, ...] = ()
    """The LeaderWorkerSets of the service, annotated or ejected."""
    others: tuple[Object, ...] = ()
    """The PodGroups that its members name; autoscalers and objects of routes with its label, of any owner."""

    @property
    def members(self) -> tuple[Object, ...]:
        """The LeaderWorkerSets that admission expanded, and that need what the controller made for them."""
        return tuple(lws for lws in self.sets if belongs(lws, self.name))

    @property
    def made(self) -> tuple[Object, ...]:
        """The objects that the controller made for this service, by its own rule of ownership."""
        owners = (*self.members, *([self.inferenceservice] if self.inferenceservice else ()))
        uids = frozenset(one["metadata"].get("uid", "") for one in owners)
        return tuple(obj for obj in self.others if self._is_made(obj, uids))

    def _is_made(self, obj: Object, uids: frozenset[str]) -> bool:
        kind = OUTPUTS[obj["kind"]]
        row = kind.project(obj)
        return row is not None and is_ours(kind, row, self.name, uids)


def belongs(lws: Object, service: str) -> bool:
    """Return whether a LeaderWorkerSet is a member of a service, or was ejected from it."""
    if one := member(lws):
        return one.service == service
    gone = ejected(lws)
    return gone is not None and service in {gone.service, gone.group}


def described(obj: Object) -> str:
    """Return kind, namespace and name of an object."""
    return f"{obj['kind']} {obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
