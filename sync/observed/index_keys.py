"""Index keys relate objects that share no label, so that a change of one reconciles the other's service."""

from collections.abc import Callable, Iterator
from typing import Final

from intent import Object, lws
from intent.annotations import SERVICE
from intent.names import picker_name
from intent.service.member import ServiceKey
from intent.shapes import listed, mapping, text
from sync.observed.cached import Row

GATEWAY: Final = "Gateway"


def index_key(kind: str, namespace: str, name: str) -> ServiceKey:
    """Return the index key of an object; it differs from every service's key, as no name has a slash."""
    return namespace, f"{kind}/{name}"


def service_keys(key: ServiceKey, rows: Callable[[ServiceKey], Iterator[Row]]) -> tuple[ServiceKey, ...]:
    """Return the services that a key concerns: the service itself, or those of the rows with an index key."""
    if "/" not in key[1]:
        return (key,)
    return tuple({(row.namespace, row.service): None for row in rows(key) if row.service})


def own_key(kind: str, obj: Object) -> tuple[ServiceKey, ...]:
    """Return the index key of an object itself."""
    metadata = mapping(obj.get("metadata"))
    return (index_key(kind, text(metadata.get("namespace")), text(metadata.get("name"))),)


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


def leader_worker_set_keys(obj: Object) -> tuple[ServiceKey, ...]:
    """Return the index keys of a LeaderWorkerSet: its own, and that of its service's endpoint picker.

    PodGroups that LWS's own Volcano provider made for it have the first; a LeaderWorkerSet with the name of
    the endpoint picker has the second.
    """
    metadata = mapping(obj.get("metadata"))
    service = text(mapping(metadata.get("labels")).get(SERVICE))
    reserved = (picker_key(text(metadata.get("namespace")), service),) if service else ()
    return tuple(dict.fromkeys((*own_key(lws.KIND, obj), *reserved)))


def picker_key(namespace: str, service: str) -> ServiceKey:
    """Return the index key of a LeaderWorkerSet that has the name of a service's endpoint picker.

    LWS creates a headless Service of its own name, which conflicts with the endpoint picker's Service.
    """
    return index_key(lws.KIND, namespace, picker_name(service))
