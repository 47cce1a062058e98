"""What is seen of one service at one moment, and what it should have, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from intent import lws
from intent.errors import Subject
from intent.inferenceservice.read import KIND, InferenceServiceIntent
from intent.service.member import Member, ServiceKey
from intent.service.rules import present
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.pod_group import PodGroup


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a plan is made from. Offline: only the key and the members."""

    key: ServiceKey
    members: tuple[Member, ...]
    stored: PodGroup | None = None
    """The PodGroup of the service's name, whoever made it."""
    remembered: PodGroup | None = None
    """Ours, as last seen."""
    rivals: frozenset[str] = frozenset()
    """Members for which LWS's own provider made PodGroups."""
    empty_for: Mapping[str, float] = field(default_factory=dict)
    """Seconds since a member has had no replicas, by name."""
    volcano: str = ""
    """Why this Volcano cannot schedule the gang; empty if nothing is known against it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that is seen of one service. Offline: its members and its InferenceService."""

    situation: Situation
    service: CachedInferenceService | None = None
    rows: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """What the caches hold of it, by kind."""
    namesake: Subject | None = None
    """The LeaderWorkerSet, of whatever service, that has the name of the endpoint picker."""
    claimed: frozenset[str] = frozenset()
    """Roles whose author changed `replicas` after anything else scaled them."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Kinds of which not every object of the service is known, and why. None is written or deleted."""
    unreadable: tuple[tuple[Subject, str], ...] = ()
    """Objects that may be the service's and cannot be read, and why."""
    unapplied: frozenset[str] = frozenset()
    """Kinds of which something that is wanted is not stored as it was asked for."""

    @property
    def value(self) -> InferenceServiceIntent | None:
        """What the InferenceService asks for; None if there is none that can be read."""
        return self.service.value if self.service else None

    @property
    def going(self) -> bool:
        """Whether the garbage collector is about to take what the service has."""
        return bool((self.service and self.service.deleting) or self._left_over)

    @property
    def owners(self) -> frozenset[str]:
        """The uids of the InferenceService and of the members: they own what the service has."""
        uids = (one.uid for one in self.situation.members)
        return frozenset((*uids, *([self.service.uid] if self.service else ())))

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Whom to tell what concerns the service as a whole."""
        if self.service:
            return (self.service.subject,)
        return tuple(one.subject for one in present(self.situation.members))

    @property
    def _left_over(self) -> list[Any]:
        """LeaderWorkerSets of an InferenceService of this name that is gone, or was replaced."""
        uid, name = self.service.uid if self.service else "", self.situation.key[1]
        rows = self.rows.get(lws.KIND, ())
        return [row for row in rows if _is_of(row.controller, name) and row.controller.uid != uid]


def _is_of(controller: Any, name: str) -> bool:
    return bool(controller.kind == KIND and controller.name == name)
