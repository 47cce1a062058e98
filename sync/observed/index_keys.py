"""Index keys relate objects that share no label, so that a change of one reconciles the other's service."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from intent import Object, lws
from intent.annotations import SERVICE
from intent.gang import pod_group_name
from intent.inferencetemplate.v1alpha1 import KIND as TEMPLATE
from intent.lws import read_revision
from intent.names import service_names
from intent.service.member import Member, ServiceKey
from intent.shapes import listed, mapping, text

GATEWAY: Final = "Gateway"
INFERENCE_POOL: Final = "InferencePool"
POD_GROUP: Final = "PodGroup"
EJECTED: Final = "ejected"
"""The first part of the index key of ejected LeaderWorkerSets, whose templates name a PodGroup."""
NAMED: Final = frozenset({GATEWAY, INFERENCE_POOL, TEMPLATE})
"""Kinds that objects of several services and tenants name."""


def index_key(kind: str, namespace: str, name: str) -> ServiceKey:
    """Return the index key of an object; it differs from every service's key, as no name has a slash."""
    return namespace, f"{kind}/{name}"


def is_index_key(key: ServiceKey) -> bool:
    """Return whether a key is an index key; else it is a service's."""
    return "/" in key[1]


def service_keys(
    key: ServiceKey, services_of: Callable[[str, ServiceKey], Iterable[ServiceKey]], kinds: Iterable[str]
) -> tuple[ServiceKey, ...]:
    """Return the services that a key concerns: the service itself, or those of objects with an index key.

    `services_of` returns the services of the objects of a kind with an index key.
    """
    if not is_index_key(key):
        return (key,)
    namespace, (named, _, name) = key[0], key[1].partition("/")
    group = ((namespace, name),) if named == EJECTED else ()
    at = pod_group_key(namespace, name) if named == EJECTED else key
    found = (one for kind in kinds if is_concerned(kind, at) for one in services_of(kind, at))
    return tuple(dict.fromkeys((*group, *found)))


def concerns(kind: str, key: ServiceKey) -> bool:
    """Return whether a change of an object of a kind concerns the services with one of its keys.

    A change of a Gateway or a template concerns all services that name it. A change of an object that names
    it concerns none but its own: otherwise one tenant would have the services of all others reconciled.
    """
    named = key[1].partition("/")[0]
    return named == kind or named not in NAMED


def is_concerned(kind: str, key: ServiceKey) -> bool:
    """Return whether a change of an object concerns the services of objects of a kind with one of its keys.

    A change of a LeaderWorkerSet, or of an autoscaler that names it, does not concern the services whose
    label other autoscalers of it have: each of thousands would have all of these reconciled.
    """
    return kind == lws.KIND or key[1].partition("/")[0] != lws.KIND


def own_key(kind: str, obj: Object) -> tuple[ServiceKey, ...]:
    """Return the index key of an object itself."""
    metadata = mapping(obj.get("metadata"))
    return (index_key(kind, text(metadata.get("namespace")), text(metadata.get("name"))),)


def route_keys(route: Object) -> tuple[ServiceKey, ...]:
    """Return the index keys of an HTTPRoute's Gateways and InferencePools."""
    return tuple(dict.fromkeys((*parent_keys(route), *_pool_keys(route))))


def _pool_keys(route: Object) -> Iterator[ServiceKey]:
    home = text(mapping(route.get("metadata")).get("namespace"))
    rules = map(mapping, listed(mapping(route.get("spec")).get("rules")))
    for backend in (mapping(one) for rule in rules for one in listed(rule.get("backendRefs"))):
        if backend.get("kind") == INFERENCE_POOL:
            yield index_key(INFERENCE_POOL, text(backend.get("namespace")) or home, text(backend.get("name")))


def parent_keys(route: Object) -> tuple[ServiceKey, ...]:
    """Return the index keys of an HTTPRoute's Gateways; the default namespace is the route's own."""
    home = text(mapping(route.get("metadata")).get("namespace"))
    references = map(mapping, listed(mapping(route.get("spec")).get("parentRefs")))
    index_keys = (
        index_key(GATEWAY, text(reference.get("namespace")) or home, text(reference.get("name")))
        for reference in references
        if reference.get("kind", GATEWAY) == GATEWAY
    )
    return tuple(dict.fromkeys(index_keys))


def target_keys(autoscaler: Object) -> tuple[ServiceKey, ...]:
    """Return the index key of the LeaderWorkerSet of this name as the one that an autoscaler scales."""
    namespace = text(mapping(autoscaler.get("metadata")).get("namespace"))
    name = text(mapping(mapping(autoscaler.get("spec")).get("scaleTargetRef")).get("name"))
    return (index_key(lws.KIND, namespace, name),)


def leader_worker_set_keys(obj: Object, one: Member | None) -> tuple[ServiceKey, ...]:
    """Return the index keys of a LeaderWorkerSet: its own, and those of its service's Services.

    PodGroups that LWS's own Volcano provider made for it have the first; a LeaderWorkerSet with the name of
    a Service has the others. An ejected one is also found by the service and the PodGroup that its templates
    name: its own labels may be gone. So is a member of a revision, by its PodGroup. `one` is what
    `member.ejected` returns.
    """
    metadata = mapping(obj.get("metadata"))
    namespace, service = text(metadata.get("namespace")), text(mapping(metadata.get("labels")).get(SERVICE))
    reserved = namesake_keys(namespace, service) if service else ()
    if one is None and service and (revision := read_revision(mapping(metadata.get("labels")))):
        reserved = (*reserved, pod_group_key(namespace, pod_group_name(service, revision)))
    named = ((namespace, one.service),) if one and one.service else ()
    grouped = (index_key(EJECTED, namespace, one.group),) if one and one.group else ()
    return tuple(dict.fromkeys((*own_key(lws.KIND, obj), *reserved, *named, *grouped)))


def pod_group_key(namespace: str, name: str) -> ServiceKey:
    """Return the index key of a PodGroup, under which the LeaderWorkerSets of a revision are found."""
    return index_key(POD_GROUP, namespace, name)


def gang_keys(namespace: str, name: str) -> tuple[ServiceKey, ServiceKey]:
    """Return the index keys under which LeaderWorkerSets are found whose templates name a PodGroup."""
    return pod_group_key(namespace, name), index_key(EJECTED, namespace, name)


def namesake_keys(namespace: str, service: str) -> tuple[ServiceKey, ...]:
    """Return the index keys of LeaderWorkerSets that have the name of one of a service's Services.

    LWS creates a headless Service of its own name, which conflicts with ours.
    """
    return tuple(index_key(lws.KIND, namespace, name) for name in service_names(service))
