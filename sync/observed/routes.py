"""Projections of what a service is reached through: HTTPRoute, InferencePool, Gateway, endpoint picker.

Rules of this file:
1. Only conditions of the present generation count. An entry of `status.parents` without `observedGeneration`,
   which the Gateway API requires (GEP-1364), counts for no generation.
2. Texts of other controllers are shortened (`condition.shortened`).
"""

from dataclasses import dataclass
from typing import Any

from intent import Object
from intent.annotations import PICKER
from intent.shapes import listed, mapping, number, strings, text
from sync.observed.cached import AppliedObject, applied_fields
from sync.observed.condition import ObservedCondition, conditions, current, generation
from sync.observed.index_keys import GATEWAY, INFERENCE_POOL, IndexKey, own_key


@dataclass(frozen=True, slots=True)
class Parent:
    """A reference to a Gateway, or to one of its listeners (`ParentReference` of the Gateway API)."""

    namespace: str
    name: str
    section: str = ""
    port: int = 0
    kind: str = "Gateway"

    @property
    def gateway(self) -> tuple[str, str]:
        """Namespace and name of the Gateway."""
        return self.namespace, self.name

    def __str__(self) -> str:
        """Return the reference for messages."""
        listener = self.section or (str(self.port) if self.port else "")
        return f"{self.kind} {self.namespace}/{self.name}{f' ({listener})' if listener else ''}"


@dataclass(frozen=True, slots=True)
class ParentStatus:
    """The conditions of one controller for one parent."""

    parent: Parent
    accepted: ObservedCondition | None = None
    resolved: ObservedCondition | None = None
    """The condition `ResolvedRefs`."""


def references(value: Any, namespace: str) -> tuple[Parent, ...]:
    """Read `spec.parentRefs`."""
    return tuple(_parent(one, namespace) for one in listed(value) if isinstance(one, dict))


def answers(value: Any, namespace: str, generation: int) -> tuple[ParentStatus, ...]:
    """Read `status.parents` of an object of this generation."""
    return tuple(_answer(one, namespace, generation) for one in listed(value) if isinstance(one, dict))


def _parent(ref: Object, namespace: str) -> Parent:
    return Parent(
        namespace=text(ref.get("namespace")) or namespace,
        name=text(ref.get("name")),
        section=text(ref.get("sectionName")),
        port=number(ref.get("port")),
        kind=text(ref.get("kind")) or "Gateway",
    )


def _answer(one: Object, namespace: str, generation: int) -> ParentStatus:
    found = current(conditions(one.get("conditions")), generation)
    parent = _parent(mapping(one.get("parentRef")), namespace)
    return ParentStatus(parent, found.get("Accepted"), found.get("ResolvedRefs"))


@dataclass(frozen=True, slots=True)
class HTTPRoute(AppliedObject):
    """What one HTTPRoute asks for, and the answers of gateways."""

    parents: tuple[Parent, ...] = ()
    answers: tuple[ParentStatus, ...] = ()
    hostnames: tuple[str, ...] = ()
    prefix: str = ""
    """The path of its first match, without a trailing slash."""


def project_http_route(obj: Object) -> HTTPRoute:
    """Project an HTTPRoute."""
    metadata, spec, status = (mapping(obj.get(key)) for key in ("metadata", "spec", "status"))
    namespace = text(metadata.get("namespace"))
    return HTTPRoute(
        **applied_fields(obj),
        index_keys=_route_keys(obj),
        parents=references(spec.get("parentRefs"), namespace),
        answers=answers(status.get("parents"), namespace, generation(obj)),
        hostnames=strings(spec.get("hostnames")),
        prefix=_prefix(spec),
    )


def _route_keys(obj: Object) -> tuple[IndexKey, ...]:
    """Return the index keys of an HTTPRoute's Gateways and InferencePools, each once."""
    spec, namespace = mapping(obj.get("spec")), text(mapping(obj.get("metadata")).get("namespace"))
    parents = (one for one in references(spec.get("parentRefs"), namespace) if one.kind == GATEWAY)
    rules = map(mapping, listed(spec.get("rules")))
    backends = (mapping(one) for rule in rules for one in listed(rule.get("backendRefs")))
    pools = (
        IndexKey(INFERENCE_POOL, text(one.get("namespace")) or namespace, text(one.get("name")))
        for one in backends
        if one.get("kind") == INFERENCE_POOL
    )
    return tuple(dict.fromkeys((*(IndexKey(GATEWAY, *one.gateway) for one in parents), *pools)))


def _prefix(spec: Object) -> str:
    """Return the path of the first match of the first rule; empty for a regular expression."""
    rule = mapping(next(iter(listed(spec.get("rules"))), None))
    match = mapping(next(iter(listed(rule.get("matches"))), None))
    path = mapping(match.get("path"))
    return "" if path.get("type") == "RegularExpression" else text(path.get("value")).rstrip("/")


@dataclass(frozen=True, slots=True)
class InferencePool(AppliedObject):
    """What one InferencePool selects, and the answers of gateways; empty until a route refers to it."""

    answers: tuple[ParentStatus, ...] = ()
    split: bool = False
    """Whether prefillers and decoders share it: without its endpoint picker it is closed."""


def project_pool(obj: Object) -> InferencePool:
    """Project an InferencePool."""
    metadata, spec, status = (mapping(obj.get(key)) for key in ("metadata", "spec", "status"))
    found = answers(status.get("parents"), text(metadata.get("namespace")), generation(obj))
    mode = mapping(spec.get("endpointPickerRef")).get("failureMode")
    keys = own_key(INFERENCE_POOL, obj)
    return InferencePool(**applied_fields(obj), index_keys=keys, answers=found, split=mode == "FailClose")


@dataclass(frozen=True, slots=True)
class Listener:
    """One listener of a Gateway."""

    name: str
    port: int
    protocol: str
    hostname: str = ""


@dataclass(frozen=True, slots=True)
class Gateway(AppliedObject):
    """One Gateway."""

    listeners: tuple[Listener, ...] = ()
    addresses: tuple[str, ...] = ()
    accepted: ObservedCondition | None = None
    programmed: ObservedCondition | None = None
    """Whether its present generation was sent to the data plane; the Gateway API requires this condition."""

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    def __str__(self) -> str:
        """Return the Gateway for messages."""
        return f"Gateway {self.namespace}/{self.name}"


def project_gateway(obj: Object) -> Gateway:
    """Project a Gateway."""
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    addresses = (text(mapping(one).get("value")) for one in listed(status.get("addresses")))
    found = current(conditions(status.get("conditions")), generation(obj))
    return Gateway(
        **applied_fields(obj),
        index_keys=own_key(GATEWAY, obj),
        listeners=tuple(_listener(one) for one in listed(spec.get("listeners")) if isinstance(one, dict)),
        addresses=tuple(address for address in addresses if address),
        accepted=found.get("Accepted"),
        programmed=found.get("Programmed"),
    )


def _listener(one: Object) -> Listener:
    return Listener(
        name=text(one.get("name")),
        port=number(one.get("port")),
        protocol=text(one.get("protocol")),
        hostname=text(one.get("hostname")),
    )


@dataclass(frozen=True, slots=True)
class Deployment(AppliedObject):
    """What the Deployment of an endpoint picker reports."""

    available: bool = False
    """Whether one of its pods is available; of several endpoint pickers only the leader ever is."""
    replacing: bool = False
    """Whether pods of an earlier template still exist."""
    message: str = ""
    """Why it is not available or not up to date, from its conditions."""
    current: bool = False
    """Whether its status is of the present generation."""
    picker: str = ""
    """The generation of the endpoint picker that it runs."""
    user: int = 0
    """The uid of its pods; 0 if the image gives it, or the platform."""


def project_deployment(obj: Object) -> Deployment:
    """Project a Deployment."""
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    pod = mapping(mapping(spec.get("template")).get("spec"))
    found = {one.type: one for one in conditions(status.get("conditions"))}
    return Deployment(
        **applied_fields(obj),
        available=number(status.get("availableReplicas")) > 0,
        replacing=number(status.get("replicas")) > number(status.get("updatedReplicas")),
        message=_message(found),
        current=number(status.get("observedGeneration")) >= generation(obj),
        picker=text(mapping(mapping(obj.get("metadata")).get("labels")).get(PICKER)),
        user=number(mapping(pod.get("securityContext")).get("runAsUser")),
    )


def _message(found: dict[str, ObservedCondition]) -> str:
    """Return the message of the most telling bad condition: a refused pod comes first."""
    bad = (("ReplicaFailure", "True"), ("Progressing", "False"), ("Available", "False"))
    told = (found[kind] for kind, status in bad if kind in found and found[kind].status == status)
    return next((one.message for one in told), "")


@dataclass(frozen=True, slots=True)
class Ingress(AppliedObject):
    """One Ingress: where it is reached."""

    addresses: tuple[str, ...] = ()
    """Those of its load balancer, hostnames first; many controllers report none."""
    entries: tuple[tuple[str, str], ...] = ()
    """Host and first path of each rule, those with a host first; none with a wildcard."""
    tls: bool = False


def project_ingress(obj: Object) -> Ingress:
    """Project an Ingress."""
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    points = map(mapping, listed(mapping(status.get("loadBalancer")).get("ingress")))
    addresses = (text(one.get("hostname")) or text(one.get("ip")) for one in points)
    entries = [_entry(mapping(one)) for one in listed(spec.get("rules"))] or [("", "")]
    exact = [entry for entry in entries if not entry[0].startswith("*.")]
    return Ingress(
        **applied_fields(obj),
        addresses=tuple(one for one in addresses if one),
        entries=tuple(dict.fromkeys(sorted(exact or [("", "")], key=lambda entry: not entry[0]))),
        tls=bool(listed(spec.get("tls"))),
    )


def _entry(rule: Object) -> tuple[str, str]:
    """Return host and first path of a rule of an Ingress; a regular expression counts as no path."""
    path = mapping(next(iter(listed(mapping(rule.get("http")).get("paths"))), None))
    is_plain = path.get("pathType") in {"Prefix", "Exact"}
    return text(rule.get("host")), text(path.get("path")).rstrip("/") if is_plain else ""
