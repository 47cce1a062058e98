"""A service: the LeaderWorkerSets that make it, and the rules that no single one of them can break.

The loop reads members from the API server, the offline command from files; both ask the same questions.
The eldest member comes first, by age, then by name: it keeps the role, who came later breaks the rule.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from intent import Object
from intent.annotations import COMPONENT_TYPE as COMPONENT
from intent.annotations import (
    COMPONENT_TYPES,
    DEFAULT_ROLE,
    EXPANSION,
    GROUP_NAME,
    QUEUE_NAME,
    ROLE_NAME,
    ROLES,
    SCHEDULER_NAME,
    SERVICE,
)
from intent.annotations import read as read_annotations
from intent.errors import FieldError, Subject
from intent.gang import DISAGGREGATED, NO_GANG
from intent.handover import Handover, mismatch, read_handover
from intent.lws import API_VERSION, KIND, ComponentType
from intent.routing import NO_ROUTING, Routing
from intent.serving import DEFAULT, serving_port
from intent.settings import Settings
from intent.shapes import EMPTY, mapping, text

ServiceKey = tuple[str, str]
"""Namespace and name of a service."""


@dataclass(frozen=True, slots=True)
class Member:
    """What the service must know of one of its LeaderWorkerSets, as the API server stores it."""

    namespace: str
    name: str
    service: str
    component_type: ComponentType = "worker"
    role_name: str = "worker"
    roles: frozenset[str] = frozenset()
    """The roles its author declared; empty if none."""
    scheduler: str = ""
    """The gang's scheduler; empty if its pods are in no gang."""
    queue: str = ""
    priority_class: str = ""
    """`priorityClassName` that leader and worker share; empty if they have none, or two."""
    size: int = 1
    replicas: int = 1
    uid: str = ""
    created: str = ""
    """`creationTimestamp`, RFC 3339; empty offline."""
    deleting: bool = False
    handover: Handover | None = None
    """How a prefiller or a decoder hands over its KV cache, as far as its command tells."""
    routing: Routing = NO_ROUTING
    port: int = DEFAULT
    """Where its leaders serve."""

    @property
    def key(self) -> ServiceKey:
        """The service it belongs to."""
        return self.namespace, self.service

    @property
    def subject(self) -> Subject:
        """The LeaderWorkerSet, as something is said about it."""
        return Subject(API_VERSION, KIND, self.namespace, self.name, self.uid)

    @property
    def age(self) -> tuple[str, str]:
        """Sorts the eldest first."""
        return self.created, self.name


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say to the author of one object."""

    subject: Subject
    error: FieldError


# --- reading ----------------------------------------------------------------------------------------


def member(lws: Object) -> Member | None:
    """Read an expanded LeaderWorkerSet; None if it is in no service, or was never expanded.

    A member has the label and the annotation of the service, and they agree, and the record of its expansion.
    """
    metadata = mapping(lws.get("metadata"))
    annotations, labels = mapping(metadata.get("annotations")), mapping(metadata.get("labels"))
    service = text(labels.get(SERVICE))
    if not service or annotations.get(SERVICE) != service or not annotations.get(EXPANSION):
        return None
    spec = mapping(lws.get("spec"))
    group = mapping(spec.get("leaderWorkerTemplate"))
    templates, wishes = _templates(group), read_annotations(annotations)[0]
    component_type = _component_type(labels)
    return Member(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        service=service,
        component_type=component_type,
        role_name=text(labels.get(ROLE_NAME)) or DEFAULT_ROLE[component_type],
        roles=_roles(annotations.get(ROLES)),
        scheduler=_scheduler(templates, service),
        queue=text(annotations.get(QUEUE_NAME)),
        priority_class=agreed(text(_spec(template).get("priorityClassName")) for template in templates),
        size=max(1, _count(group.get("size"))),
        replicas=_count(spec.get("replicas")),
        uid=text(metadata.get("uid")),
        created=text(metadata.get("creationTimestamp")),
        deleting=bool(metadata.get("deletionTimestamp")),
        handover=read_handover(lws) if component_type in DISAGGREGATED else None,
        routing=wishes.routing,
        port=serving_port(templates[0] if templates else EMPTY, annotations, wishes.engine_container),
    )


def services(members: Iterable[Member]) -> dict[ServiceKey, tuple[Member, ...]]:
    """Bring members of one service together, services in the order of their first member."""
    found: dict[ServiceKey, list[Member]] = defaultdict(list)
    for one in members:
        found[one.key].append(one)
    return {key: tuple(of_one) for key, of_one in found.items()}


def agreed(values: Iterable[str]) -> str:
    """Give the one value that all have; empty if there are two."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else ""


def _templates(group: Object) -> tuple[Object, ...]:
    fields = (group.get("leaderTemplate"), group.get("workerTemplate"))
    return tuple(template for template in fields if isinstance(template, dict))


def _spec(template: Object) -> Object:
    return mapping(template.get("spec"))


def _component_type(labels: Object) -> ComponentType:
    value = labels.get(COMPONENT)
    return next((known for known in COMPONENT_TYPES if known == value), "worker")


def _roles(value: Any) -> frozenset[str]:
    return frozenset(role.strip() for role in text(value).split(",") if role.strip())


def _scheduler(templates: tuple[Object, ...], service: str) -> str:
    """Read who schedules the pods as a gang: all of them must carry the service's group."""
    groups = {text(mapping(mapping(t.get("metadata")).get("annotations")).get(GROUP_NAME)) for t in templates}
    name = agreed(text(_spec(template).get("schedulerName")) for template in templates)
    return name if groups == {service} and name != NO_GANG else ""


def _count(value: Any) -> int:
    """Read `size` or `replicas`; the API's default for both is 1."""
    return value if type(value) is int and value >= 0 else 1


# --- rules ------------------------------------------------------------------------------------------


def findings(members: Iterable[Member], settings: Settings) -> tuple[Finding, ...]:
    """Say all about one service that has no PodGroup yet: contradictions, and what is missing."""
    live = present(members)
    return (*contradictions(live, settings), *waiting(live))


def present(members: Iterable[Member]) -> tuple[Member, ...]:
    """Leave out the members that are being deleted, and sort the rest, eldest first."""
    return tuple(sorted((one for one in members if not one.deleting), key=lambda one: one.age))


def contradictions(members: tuple[Member, ...], settings: Settings) -> tuple[Finding, ...]:
    """Say what members do that cannot stand together (FI401, FI402, FI404, FI405, FI406, FI420)."""
    return (
        *_shared_roles(members),
        *_worker_in_company(members),
        *disagreements(members, settings),
        *_handovers(members, settings),
    )


def disagreements(members: tuple[Member, ...], settings: Settings) -> tuple[Finding, ...]:
    """Say on what all members must agree, and do not (FI404, FI405, FI406)."""
    declaring = tuple(one for one in members if one.roles)
    return (
        *_disagreement(
            members, members, "FI404", SCHEDULER_NAME, "the scheduler", lambda one: one.scheduler or NO_GANG
        ),
        *_disagreement(
            members, members, "FI405", QUEUE_NAME, "the queue", lambda one: one.queue or settings.queue
        ),
        *_disagreement(
            members, declaring, "FI406", ROLES, "the roles", lambda one: ",".join(sorted(one.roles))
        ),
    )


def odd_ones(members: tuple[Member, ...]) -> frozenset[str]:
    """Name the members that break a rule about roles; `members` are the present ones, eldest first.

    The eldest member decides whether the service is a worker or prefillers and decoders.
    """
    if not members:
        return frozenset()
    if members[0].component_type == "worker":
        return frozenset(one.name for one in members[1:])
    fitting = [one for one in members if one.component_type in DISAGGREGATED]
    holders = {one.role_name: one.name for one in reversed(fitting)}
    return frozenset(one.name for one in members) - frozenset(holders.values())


def declared_roles(members: tuple[Member, ...]) -> frozenset[str]:
    """Unite what the members' authors wrote into `roles`."""
    return frozenset[str]().union(*(one.roles for one in members))


def missing(members: tuple[Member, ...]) -> tuple[str, ...]:
    """Name what a gang of these members still lacks, in words; nothing if all may start."""
    odd = odd_ones(members)
    fitting = tuple(one for one in members if one.name not in odd)
    if declared := declared_roles(members):
        return tuple(f"role {role}" for role in sorted(declared - {one.role_name for one in fitting}))
    types = {one.component_type for one in fitting}
    if not fitting or types == {"worker"}:
        return ()
    return tuple(f"a {component_type}" for component_type in DISAGGREGATED if component_type not in types)


def waiting(members: tuple[Member, ...]) -> tuple[Finding, ...]:
    """Say on every member of a gang for which roles it waits (FI410)."""
    lacks = missing(members)
    if not lacks:
        return ()
    return tuple(
        _finding(one, ROLES, None, f"service {one.service} waits for {' and '.join(lacks)}", "FI410")
        for one in members
        if one.scheduler
    )


def _shared_roles(members: tuple[Member, ...]) -> Iterator[Finding]:
    """FI401: two members with one role name. Workers have FI402 instead."""
    for one in members:
        others = [other.name for other in members if other.role_name == one.role_name and other is not one]
        if others and one.component_type in DISAGGREGATED:
            message = f"is also the role of {', '.join(others)}; give each member its own"
            yield _finding(one, ROLE_NAME, one.role_name, message, "FI401")


def _worker_in_company(members: tuple[Member, ...]) -> Iterator[Finding]:
    """FI402: a worker, and anybody else."""
    if len(members) < 2 or all(one.component_type != "worker" for one in members):
        return
    for one in members:
        others = ", ".join(f"{other.name} ({other.component_type})" for other in members if other is not one)
        message = f"service {one.service} has {others} too; it is one worker, or prefillers and decoders"
        yield _finding(one, COMPONENT, one.component_type, message, "FI402")


def _handovers(members: tuple[Member, ...], settings: Settings) -> Iterator[Finding]:
    """FI420: a prefiller and a decoder between which the connector cannot hand over."""
    for one, other in product(members, members):
        sides = {side.component_type: side.handover for side in (one, other) if side.handover}
        if message := mismatch(sides, settings.engines):
            yield Finding(one.subject, FieldError("spec", None, f"{message} ({other.name})", "FI420"))


def _disagreement(  # noqa: PLR0913, PLR0917 - a row of the table above
    members: tuple[Member, ...],
    voters: tuple[Member, ...],
    code: str,
    key: str,
    what: str,
    value: Callable[[Member], str],
) -> Iterator[Finding]:
    """Say on every member what it has and what the voters have."""
    if len({value(one) for one in voters}) < 2:
        return
    for one in members:
        others = ", ".join(f"{other.name}: {value(other)}" for other in voters if value(other) != value(one))
        message = f"members disagree on {what} ({others}); nothing changes until they agree"
        yield _finding(one, key, value(one) or None, message, code)


def _finding(one: Member, key: str, value: Any, message: str, code: str) -> Finding:
    return Finding(one.subject, FieldError(f"metadata.annotations[{key}]", value, message, code))
