"""The snapshot of one service: everything from which its desired objects and its status are computed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from intent.errors import Subject
from intent.inferenceservice.read import KIND, InferenceServiceIntent
from intent.inferenceservice.router import filled
from intent.service.member import Member, ServiceKey
from intent.service.rules import conflicting_members, present
from sync.kinds import LWS, POD, ROUTE_KINDS, Kind
from sync.observed.cached import AppliedObject, Row
from sync.observed.configuration import Configuration
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.inferencetemplate import NONE_NAMED, NamedTemplates
from sync.observed.lws import LeaderWorkerSet
from sync.observed.pod import ObservedPod
from sync.observed.pod_group import PodGroup

A = TypeVar("A", bound=AppliedObject)
R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Situation:
    """The input of a gang's plan. Offline: only the key, the members and the group."""

    key: ServiceKey
    members: tuple[Member, ...]
    stored: PodGroup | None = None
    """The PodGroup of the service's name, made by the controller or not."""
    remembered: PodGroup | None = None
    """Our PodGroup, as last seen."""
    rivals: frozenset[str] = frozenset()
    """Members of the service for which LWS's own provider made PodGroups."""
    empty_for: Mapping[str, float] = field(default_factory=dict)
    """Seconds for which a member has had no replicas, by name."""
    ejected: tuple[Member, ...] = ()
    """LeaderWorkerSets that are no members (any more), and whose templates name its PodGroup."""
    group: str = ""
    """The PodGroup of one revision of a DisaggregatedSet; empty: the PodGroup has the service's name."""
    bound: frozenset[str] = frozenset()
    """The LeaderWorkerSets of which a pod is bound; only known of revisions."""
    needed_for: float = 0.0
    """Seconds for which pods need our PodGroup though no template names it any more; inf: one names it."""

    @property
    def pod_group(self) -> str:
        """The name of the PodGroup."""
        return self.group or self.key[1]

    @cached_property
    def live(self) -> tuple[Member, ...]:
        """The members that are not being deleted."""
        return present(self.members)

    @cached_property
    def conflicting(self) -> frozenset[str]:
        """The names of the live members that violate a rule about roles."""
        return conflicting_members(self.live)

    @cached_property
    def live_ejected(self) -> tuple[Member, ...]:
        """The ejected LeaderWorkerSets that are not being deleted."""
        return present(self.ejected)

    @cached_property
    def is_named(self) -> bool:
        """Whether the templates of a LeaderWorkerSet that is not being deleted name the PodGroup."""
        return bool(self.live_ejected) or any(one.scheduler for one in self.live)

    @property
    def before(self) -> PodGroup | None:
        """The PodGroup as it is stored, else ours as last seen."""
        return self.stored or self.remembered


@dataclass(frozen=True)
class Snapshot:
    """The snapshot of one service. Offline: its members and its InferenceService."""

    situation: Situation
    """The gang of the service's name."""
    service: CachedInferenceService | None = None
    rows: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Rows of the caches, by kind (`of`)."""
    own: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Those that the caches find by the service alone, by kind."""
    namesakes: tuple[Subject, ...] = ()
    """The LeaderWorkerSets, of any service or none, that have the name of one of its Services."""
    crowd: int = 0
    """The number of its LeaderWorkerSets if it exceeds the limit: then few of them are in the snapshot."""
    claimed: frozenset[str] = frozenset()
    """Roles whose author was the last to change `replicas`."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Kinds of which not all objects of the service are known, and why. None is written or deleted."""
    unreadable: tuple[tuple[Subject, str], ...] = ()
    """Unreadable objects that may belong to the service, and why they are unreadable."""
    unapplied: frozenset[str] = frozenset()
    """Kinds with a desired object that could not be applied."""
    revisions: tuple[Situation, ...] = ()
    """The gangs of the revisions of its DisaggregatedSets."""
    configuration: Configuration | None = None
    """The EndpointPickerConfig that its router refers to; None if it refers to none, or was not read."""
    objectives: Mapping[str, bool] = field(default_factory=dict)
    """By apiVersion of InferenceObjectives, whether the API server serves them; those that are known."""
    templates: NamedTemplates = NONE_NAMED
    """The InferenceTemplates that it names."""

    def of(self, kind: Kind[R]) -> tuple[R, ...]:
        """Return the rows of a kind."""
        return self.rows.get(kind.resource.kind, ())

    @cached_property
    def gangs(self) -> tuple[Situation, ...]:
        """All gangs of the service."""
        return (self.situation, *self.revisions)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The members of all gangs."""
        return tuple(one for gang in self.gangs for one in gang.members)

    @cached_property
    def live(self) -> tuple[Member, ...]:
        """The members that are not being deleted."""
        return present(self.members)

    @cached_property
    def fitting(self) -> tuple[Member, ...]:
        """The live members that break no rule of the service together."""
        conflicting = frozenset[str]().union(*(gang.conflicting for gang in self.gangs))
        return tuple(one for one in self.live if one.name not in conflicting)

    @cached_property
    def value(self) -> InferenceServiceIntent | None:
        """The intent of the InferenceService; None if it is absent or unreadable."""
        return self.service.value if self.service else None

    @cached_property
    def routed(self) -> InferenceServiceIntent | None:
        """The same, with the router parts of its templates; None also while these are not known."""
        value, named = self.value, self.templates
        if value is None or value.router is None or not named.names:
            return value
        if named.trouble or any(name in named.missing for name in value.router.base_refs):
            return None
        return filled(value, (named.found[name].spec for name in value.router.base_refs))

    @cached_property
    def is_deleting(self) -> bool:
        """Whether the garbage collector is about to delete the service's objects.

        So it is where an InferenceService of this name is gone or replaced, and its LeaderWorkerSets are not.
        """
        uid, name = self.service.uid if self.service else "", self.situation.key[1]
        owners = (owner for row in self.of(LWS) for owner in row.owners if owner.controller)
        is_left_over = any((one.kind, one.name) == (KIND, name) and one.uid != uid for one in owners)
        return is_left_over or bool(self.service and self.service.deleting)

    @cached_property
    def owners(self) -> frozenset[str]:
        """The uids of the InferenceService and of the members: they own the objects of the service.

        Ejected members are among them. Users cannot make themselves owners.
        """
        uids = (one.uid for gang in self.gangs for one in (*gang.members, *gang.ejected))
        return frozenset((*uids, *([self.service.uid] if self.service else ())))

    @cached_property
    def subjects(self) -> tuple[Subject, ...]:
        """The subjects of findings about the service as a whole."""
        if self.service:
            return (self.service.subject,)
        return tuple(one.subject for one in self.live)

    @cached_property
    def ejected(self) -> frozenset[str]:
        """The uids of the ejected LeaderWorkerSets that are not being deleted."""
        rows = self.of(LWS)
        return frozenset(row.uid for row in rows if row.ejected and not row.deleting)

    @cached_property
    def kept_routes(self) -> frozenset[tuple[str, str]]:
        """Kind and name of the routes that an ejected LeaderWorkerSet owns: they stay while it exists.

        Members are ejected one after the other, and the first may be the one whose annotations want routes.
        """
        ejected = self.ejected
        if not ejected:
            return frozenset()
        return frozenset(
            (kind.kind, row.name)
            for kind in ROUTE_KINDS
            for row in self.of(kind)
            if any(owner.uid in ejected for owner in row.owners)
        )

    @cached_property
    def has_no_author(self) -> bool:
        """Whether the InferenceService cannot be read, or all members were ejected and own routes."""
        if self.service:
            return self.value is None
        return not self.live and bool(self.kept_routes)

    @cached_property
    def pods(self) -> tuple[ObservedPod, ...] | None:
        """The pods of the service; None if they are not known in full."""
        return None if POD.kind in self.unknown else self.of(POD)

    def ours(self, kind: Kind[A], name: str) -> A | None:
        """Return the row of an object of the service that the controller applied, if there is one."""
        return next((row for row in self.of(kind) if row.applied and row.name == name), None)

    @cached_property
    def reports(self) -> dict[str, LeaderWorkerSet]:
        """What the LeaderWorkerSets of InferenceServices report, by name."""
        return {row.name: row.report for row in self.of(LWS) if row.report}
