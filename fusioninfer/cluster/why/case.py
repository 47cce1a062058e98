"""The case of one service: what was read, and what the functions and the clock of the controller say."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from fusioninfer.cluster.answers import Answer
from fusioninfer.cluster.check.facts import EPOCH
from fusioninfer.cluster.service import Live, snapshot_of
from fusioninfer.cluster.text import name_of, service_of
from intent import Object
from intent.annotations import LWS_NAME
from intent.gang import NO_GANG
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent, Router
from intent.service.routes import merged_routing
from intent.service.rules import present
from intent.shapes import labels, mapping, metadata, text
from sync.kinds import INFERENCE_SERVICE, LWS
from sync.observe import ServiceMemory
from sync.observed import lws as observed_lws
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.pod import project
from sync.parts.desired import Desired
from sync.parts.service import desired_state
from sync.snapshot import Snapshot
from sync.status.observed import Observed, observed

Logs = Mapping[tuple[str, str], str]
"""Ends of logs, by pod and container."""


@dataclass(frozen=True, slots=True)
class ServiceObjects:
    """What was read about one service."""

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
    logs: Logs = field(default_factory=dict)
    now: datetime = EPOCH

    def answer(self, reading: str) -> Answer:
        """Return what a reading returned; one that was not made is unknown."""
        return self.answers.get(reading, Answer(unknown="not read"))


@dataclass(frozen=True, slots=True)
class Case:
    """A service, judged."""

    read: ServiceObjects
    snapshot: Snapshot
    desired: Desired
    observed: Observed
    sets: tuple[Object, ...]
    """Its LeaderWorkerSets."""

    @property
    def service(self) -> str:
        """The service for messages."""
        return f"{INFERENCE_SERVICE.kind if self.snapshot.service else 'service'} {self.read.service}"

    @property
    def unknown(self) -> tuple[str, ...]:
        """What could not be read, so that causes there are not found."""
        answers = {**self.read.answers, **self.read.live.objects}
        refused = (f"{name}: {one.unknown}" for name, one in answers.items() if one.unknown)
        return (*self.read.live.notes, *refused)

    def pods_of(self, lws: str) -> tuple[Object, ...]:
        """Return the pods of a LeaderWorkerSet."""
        return tuple(pod for pod in self.read.pods if labels(pod).get(LWS_NAME) == lws)

    def warnings(self, kind: str, name: str) -> tuple[Object, ...]:
        """Return the Warning Events about an object, the latest first."""
        about = (
            one
            for one in self.read.answer("events").objects
            if mapping(one.get("involvedObject")).get("kind") == kind
            and mapping(one.get("involvedObject")).get("name") == name
            and one.get("type") == "Warning"
        )
        return tuple(sorted(about, key=_time, reverse=True))


def _time(event: Object) -> str:
    times = (event.get("lastTimestamp"), mapping(event.get("series")).get("lastObservedTime"))
    more = (event.get("eventTime"), mapping(event.get("metadata")).get("creationTimestamp"))
    return next((found for one in (*times, *more) if (found := text(one))), "")


def case_of(read: ServiceObjects) -> Case:
    """Judge what was read, with the functions of the controller."""
    sets = members(read)
    snapshot = snapshot_of(read.live, (read.namespace, read.service or name_of(read.named)), _memory(read))
    desired = desired_state(snapshot, read.live.settings)
    return Case(read, snapshot, desired, _observed(read, snapshot, desired, sets), sets)


def _memory(read: ServiceObjects) -> ServiceMemory:
    """Return a memory in which each LeaderWorkerSet may have been empty since it was made.

    The controller of DisaggregatedSets makes them empty, and scales them at once.
    """
    now = time.monotonic()
    return ServiceMemory(
        empty_since={
            text(one.get("uid")): now - (read.now - datetime.fromisoformat(made)).total_seconds()
            for one in map(metadata, read.live.of(LWS))
            if (made := text(one.get("creationTimestamp")))
        }
    )


def members(read: ServiceObjects) -> tuple[Object, ...]:
    """Return the LeaderWorkerSets of a service; the named one if it belongs to none."""
    if not read.service:
        return (read.named,)
    return tuple(one for one in read.live.of(LWS) if service_of(one) == read.service)


def _observed(
    read: ServiceObjects, snapshot: Snapshot, desired: Desired, sets: tuple[Object, ...]
) -> Observed:
    """Return the input of a status; LeaderWorkerSets of an author are read as roles of a service."""
    value = snapshot.value
    seen = observed(snapshot if value else _with_value(snapshot, sets), desired)
    pods = tuple(map(project, read.pods))
    if value:
        return replace(seen, pods=pods)
    reports = {name_of(one): observed_lws.project(one) for one in sets}
    groups = [gang.stored for gang in snapshot.gangs if gang.stored]
    waiting = min(groups, key=lambda one: not one.message, default=None)  # of several gangs, one that waits
    return replace(seen, pods=pods, sets=reports, pod_group=waiting)


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
        scheduler=next((one.scheduler for one in live if one.scheduler), NO_GANG),
    )
    return replace(snapshot, service=CachedInferenceService(namespace, name, service=name, intent=value))


def _role(snapshot: Snapshot, lws: Object) -> RoleIntent:
    """Return the role of a LeaderWorkerSet, which has its name."""
    member = next((one for one in snapshot.members if one.name == name_of(lws)), None)
    size = mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate")).get("size")
    nodes = size if type(size) is int else 1
    return RoleIntent(name_of(lws), member.component_type if member else "worker", {}, nodes=nodes)
