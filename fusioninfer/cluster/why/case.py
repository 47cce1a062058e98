"""The case of one service: what was read, what the controller's functions make of it, and causes in it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Literal

from catalog.codes import CODES
from fusioninfer.cluster.check.facts import EPOCH
from fusioninfer.cluster.reader import Answer
from fusioninfer.cluster.service import Live, snapshot_of
from fusioninfer.cluster.text import name_of, service_of
from intent import Object
from intent.annotations import LWS_NAME
from intent.gang import NO_GANG
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent, Router
from intent.service.routes import merged_routing
from intent.service.rules import present
from intent.shapes import labels, mapping, metadata, number, text
from sync.kinds import INFERENCE_SERVICE, LWS
from sync.observe import ServiceMemory
from sync.observed import lws as observed_lws
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.pod import project
from sync.parts.desired import Desired
from sync.parts.service import desired_state
from sync.snapshot import Snapshot
from sync.status.observed import Observed, observed
from sync.status.reasons import CAUSES

Effect = Literal["blocks", "degrades"]
"""Whether the service cannot serve, or serves less than it should."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause."""

    layer: str
    reason: str
    """A reason of `sync.status.reasons`, or a code."""
    object: str
    """Kind and name of the object that it is about."""
    message: str
    remedy: str = ""
    effect: Effect = "blocks"


def cause(reason: str, about: str, message: str, effect: Effect = "blocks", layer: str = "rules") -> Cause:
    """Return a cause with the remedy of its reason, which is not at the end of its message too.

    `layer`: that of a code; a reason has its own.
    """
    row, said = CAUSES.get(reason), message.removesuffix(f" ({reason})")
    if row:
        return Cause(row.layer, reason, about, said, row.remedy, effect)
    return Cause(layer, reason, about, said, CODES[reason].remedy, effect)


@dataclass(frozen=True)
class Case:
    """What was read about one service, and what the controller makes of it."""

    namespace: str
    service: str
    """Its name; empty for a LeaderWorkerSet that belongs to none."""
    live: Live = field(default_factory=Live)
    named: Object = field(default_factory=dict)
    """The object that the user named."""
    pods: tuple[Object, ...] = ()
    """The pods of its LeaderWorkerSets, and its other pods."""
    answers: Mapping[str, Answer] = field(default_factory=dict)
    """Further readings: events, nodes, placed (the pods on nodes), lease, queues."""
    logs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Ends of logs, by pod and container."""
    now: datetime = EPOCH

    def answer(self, reading: str) -> Answer:
        """Return what a reading returned; one that was not made is unknown."""
        return self.answers.get(reading, Answer(unknown="not read"))

    @cached_property
    def sets(self) -> tuple[Object, ...]:
        """The LeaderWorkerSets of the service; the named one if it belongs to none."""
        if not self.service:
            return (self.named,)
        return tuple(lws for lws in self.live.of(LWS) if service_of(lws) == self.service)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The service as the controller sees it.

        Each LeaderWorkerSet may have been empty since it was made: the controller of DisaggregatedSets makes
        them empty, and scales them at once.
        """
        now = time.monotonic()
        empty_since = {
            text(of.get("uid")): now - (self.now - datetime.fromisoformat(made)).total_seconds()
            for of in map(metadata, self.live.of(LWS))
            if (made := text(of.get("creationTimestamp")))
        }
        key = self.namespace, self.service or name_of(self.named)
        return snapshot_of(self.live, key, ServiceMemory(empty_since=empty_since))

    @cached_property
    def desired(self) -> Desired:
        """What the controller makes of it."""
        return desired_state(self.snapshot, self.live.settings)

    @cached_property
    def observed(self) -> Observed:
        """The input of its status; LeaderWorkerSets of an author are read as roles of a service."""
        pods = tuple(map(project, self.pods))
        if self.snapshot.value:
            return replace(observed(self.snapshot, self.desired), pods=pods)
        groups = [gang.stored for gang in self.snapshot.gangs if gang.stored]
        return replace(
            observed(_with_value(self.snapshot, self.sets), self.desired),
            pods=pods,
            sets={name_of(lws): observed_lws.project(lws) for lws in self.sets},
            pod_group=min(groups, key=lambda group: not group.message, default=None),  # one that waits
        )

    @property
    def title(self) -> str:
        """The service for messages."""
        return f"{INFERENCE_SERVICE.kind if self.snapshot.service else 'service'} {self.service}"

    @property
    def unknown(self) -> tuple[str, ...]:
        """What could not be read, so that causes there are not found."""
        answers = {**self.answers, **self.live.objects}
        refused = (f"{name}: {answer.unknown}" for name, answer in answers.items() if answer.unknown)
        return (*self.live.notes, *refused)

    def pods_of(self, lws: Object) -> tuple[Object, ...]:
        """Return the pods of a LeaderWorkerSet."""
        return tuple(pod for pod in self.pods if labels(pod).get(LWS_NAME) == name_of(lws))

    def warnings(self, kind: str, name: str) -> list[Object]:
        """Return the Warning Events about an object, the latest first."""
        about = [
            event
            for event in self.answer("events").objects
            if (of := mapping(event.get("involvedObject"))).get("kind") == kind
            and of.get("name") == name
            and event.get("type") == "Warning"
        ]
        return sorted(about, key=_time, reverse=True)


def _time(event: Object) -> str:
    times = (event.get("lastTimestamp"), mapping(event.get("series")).get("lastObservedTime"))
    more = (event.get("eventTime"), metadata(event).get("creationTimestamp"))
    return next(filter(None, map(text, (*times, *more))), "")


def _with_value(snapshot: Snapshot, sets: tuple[Object, ...]) -> Snapshot:
    """Return a snapshot with the InferenceService that its author could have written."""
    namespace, name = snapshot.situation.key
    live = present(snapshot.members)
    routing = merged_routing(live)
    value = InferenceServiceIntent(
        namespace,
        name,
        roles=tuple(_role(snapshot, lws) for lws in sets),
        router=Router("router", routing) if routing.wanted else None,
        scheduler=next((member.scheduler for member in live if member.scheduler), NO_GANG),
    )
    return replace(snapshot, service=CachedInferenceService(namespace, name, service=name, intent=value))


def _role(snapshot: Snapshot, lws: Object) -> RoleIntent:
    """Return the role of a LeaderWorkerSet, which has its name."""
    member = next((member for member in snapshot.members if member.name == name_of(lws)), None)
    size = mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate")).get("size")
    kind = member.component_type if member else "worker"
    return RoleIntent(name_of(lws), kind, {}, nodes=number(size) or 1)
