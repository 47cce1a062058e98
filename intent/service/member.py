"""A member: the fields of one LeaderWorkerSet, as the API server stores it, that its service needs."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from catalog.engines import DEFAULT_PORT
from intent import Object
from intent.annotations import COMPONENT_TYPE as COMPONENT
from intent.annotations import (
    COMPONENT_TYPES,
    DEFAULT_ROLE,
    EXPANSION,
    GROUP_NAME,
    NO_ROUTING,
    QUEUE_NAME,
    ROLE_NAME,
    ROLES,
    SERVICE,
    SERVING_LABELS,
    ComponentType,
    Routing,
)
from intent.annotations import read as read_annotations
from intent.container import generation_of
from intent.errors import Subject
from intent.gang import ENCODER, NO_GANG, pod_group_name, revision_of
from intent.lws import API_VERSION, KIND, read_revision
from intent.names import is_label_value, is_subdomain
from intent.served import LEADERS, KVTransfer, Serving, recorded
from intent.shapes import EMPTY, annotations, labels, mapping, text

ServiceKey = tuple[str, str]
"""Namespace and name of a service."""


@dataclass(frozen=True, slots=True)
class Member:
    """One LeaderWorkerSet of a service."""

    namespace: str
    name: str
    service: str
    component_type: ComponentType = "worker"
    role_name: str = "worker"
    roles: frozenset[str] = frozenset()
    """The roles that its author declared; empty if none."""
    scheduler: str = ""
    """The scheduler of the gang; empty if its pods are in no gang."""
    group: str = ""
    """The PodGroup that its templates name; empty if they name none, or several."""
    queue: str = ""
    priority_classes: tuple[str, ...] = ("",)
    """The distinct `priorityClassName`s of its templates, sorted; empty for a template without one."""
    revision: str = ""
    """That of its gang, with the slice: labels may have changed since its CREATE. Empty if no set made it."""
    size: int = 1
    replicas: int = 1
    uid: str = ""
    created: str = ""
    """`creationTimestamp`, RFC 3339; empty offline."""
    deleting: bool = False
    kv_transfer: KVTransfer | None = None
    """The KV transfer settings of a prefiller or decoder, if its command contains them."""
    routing: Routing = NO_ROUTING
    port: int = DEFAULT_PORT
    """The port of its leaders."""
    serving: Serving = LEADERS
    sidecar: str = ""
    """The endpoint picker generation of the sidecar that it asks for; empty without a known one."""
    has_adapters: bool = False
    """Whether its engines serve LoRA adapters."""

    @property
    def key(self) -> ServiceKey:
        """The service of the member."""
        return self.namespace, self.service

    @property
    def gang(self) -> str:
        """The name of its gang: the PodGroup that its templates name, or would name if it had one."""
        return self.group or pod_group_name(self.service, self.revision)

    @property
    def needs_others(self) -> bool:
        """Whether it is in the gang, or should be if others are: an encoder of one pod starts alone."""
        return bool(self.scheduler) or self.component_type != ENCODER

    @property
    def ports(self) -> tuple[int, ...]:
        """All ports of a pod that serves."""
        return self.serving.ports or (self.port,)

    @property
    def subject(self) -> Subject:
        """The LeaderWorkerSet as the subject of findings."""
        return Subject(API_VERSION, KIND, self.namespace, self.name, self.uid)

    @property
    def age(self) -> tuple[str, str]:
        """The sort key by age, oldest first."""
        return self.created, self.name


def member(lws: Object) -> Member | None:
    """Read an expanded LeaderWorkerSet; None if it is not a member.

    A member has the record of its expansion, and equal label and annotation `fusioninfer.io/service`.
    """
    if not _is_member(lws):
        return None
    written, service = annotations(lws), labels(lws)[SERVICE]
    served = recorded(written.get(EXPANSION))
    result = workload_of(lws, service, labels(lws))
    asked = read_annotations(written)[0]
    return replace(
        result if revision_of(service, result.group) is not None else replace(result, group="", scheduler=""),
        roles=frozenset(map(str.strip, text(written.get(ROLES)).split(","))) - {""},
        queue=text(written.get(QUEUE_NAME)),
        kv_transfer=served.kv_transfer,
        routing=asked.routing,
        port=served.port,
        sidecar=sidecar_of(lws) if asked.sidecar else "",
        serving=replace(served.serving, everywhere=_serves_everywhere(lws)),
        has_adapters=bool(asked.lora),
    )


def ejected(lws: Object) -> Member | None:
    """Read a LeaderWorkerSet that is no member, but whose templates name a PodGroup or a service; else None.

    So it is after our annotations and the record were removed together. Its own labels may be gone too: the
    templates count, whose pods need the PodGroup and the routes. `service` is empty without their label.
    """
    if _is_member(lws):
        return None
    of_templates = list(map(labels, _templates(lws)))
    service = agreed(text(own.get(SERVICE)) for own in of_templates)
    service = service if is_label_value(service) else ""  # nobody checks the labels of templates
    result = workload_of(lws, service, of_templates[0] if of_templates else EMPTY)
    return result if service or result.scheduler else None


def _is_member(lws: Object) -> bool:
    service, written = text(labels(lws).get(SERVICE)), annotations(lws)
    return bool(service and written.get(SERVICE) == service and written.get(EXPANSION))


def workload_of(lws: Object, service: str = "", own: Object = EMPTY) -> Member:
    """Read what counts for the gang, whether the object is annotated or not; `own` are its labels."""
    metadata, spec = mapping(lws.get("metadata")), mapping(lws.get("spec"))
    templates, component_type = _templates(lws), _component_type(own)
    group = group_of(lws)
    return Member(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        service=service,
        component_type=component_type,
        role_name=text(own.get(ROLE_NAME)) or DEFAULT_ROLE[component_type],
        scheduler=_scheduler(templates) if group else "",
        group=group,
        revision=revision_of(service, group) or read_revision(own),
        priority_classes=tuple(sorted({text(_spec(part).get("priorityClassName")) for part in templates}))
        or ("",),
        size=max(1, _count(mapping(spec.get("leaderWorkerTemplate")).get("size"))),
        replicas=_count(spec.get("replicas")),
        uid=text(metadata.get("uid")),
        created=text(metadata.get("creationTimestamp")),
        deleting=bool(metadata.get("deletionTimestamp")),
    )


def sidecar_of(lws: Object) -> str:
    """Return the endpoint picker generation of the routing sidecar in its templates (`generation_of`)."""
    return next(filter(None, map(generation_of, map(_spec, _templates(lws)))), "")


def gangs(members: Iterable[Member]) -> dict[str, tuple[Member, ...]]:
    """Group the members of a service by the name of their gang."""
    by_gang: dict[str, list[Member]] = defaultdict(list)
    for workload in members:
        by_gang[workload.gang].append(workload)
    return {name: tuple(of_one) for name, of_one in by_gang.items()}


def agreed(values: Iterable[str]) -> str:
    """Return the value that all share; empty if they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else ""


def _templates(lws: Object) -> tuple[Object, ...]:
    group = mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate"))
    fields = (group.get("leaderTemplate"), group.get("workerTemplate"))
    return tuple(template for template in fields if isinstance(template, dict))


def _serves_everywhere(lws: Object) -> bool:
    """Return whether the pods of all templates will say so: selectors find them by this label alone."""
    templates = _templates(lws)
    return bool(templates) and all(SERVING_LABELS.items() <= labels(part).items() for part in templates)


def _spec(template: Object) -> Object:
    return mapping(template.get("spec"))


def _component_type(own: Object) -> ComponentType:
    value = own.get(COMPONENT)
    return next((known for known in COMPONENT_TYPES if known == value), "worker")


def group_of(lws: Object) -> str:
    """Return the PodGroup that all templates name; empty if they name none, several, or no possible name."""
    group = agreed(text(annotations(part).get(GROUP_NAME)) for part in _templates(lws))
    return group if is_subdomain(group) else ""


def _scheduler(templates: tuple[Object, ...]) -> str:
    """Return the scheduler that all templates name; empty for the default scheduler."""
    name = agreed(text(_spec(template).get("schedulerName")) for template in templates)
    return "" if name == NO_GANG else name


def _count(value: Any) -> int:
    """Read `size` or `replicas`; the API's default of both is 1."""
    return value if type(value) is int and value >= 0 else 1
