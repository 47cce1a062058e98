"""Keys under which objects meet that share no label: a change of one is a reason to look at the other."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from intent import Object, lws
from intent.annotations import SERVICE
from intent.names import picker_name
from intent.service.member import ServiceKey
from intent.shapes import listed, mapping, text

GATEWAY: Final = "Gateway"


def index_key(kind: str, namespace: str, name: str) -> ServiceKey:
    """Give the key of an object's name; no service has a slash in its name."""
    return namespace, f"{kind}/{name}"


def service_keys(key: ServiceKey, rows: Callable[[ServiceKey], Iterator[Any]]) -> tuple[ServiceKey, ...]:
    """Give the services that a key is about: itself, or those of the rows that meet there."""
    if "/" not in key[1]:
        return (key,)
    return tuple({(row.namespace, row.service): None for row in rows(key) if row.service})


def own(kind: str, obj: Object) -> tuple[ServiceKey, ...]:
    """Meet those who look for an object of its name."""
    metadata = mapping(obj.get("metadata"))
    return (index_key(kind, text(metadata.get("namespace")), text(metadata.get("name"))),)


def of_parents(route: Object) -> tuple[ServiceKey, ...]:
    """Meet the Gateways on which an HTTPRoute hangs, each once; those without a namespace are in its own."""
    home = text(mapping(route.get("metadata")).get("namespace"))
    references = map(mapping, listed(mapping(route.get("spec")).get("parentRefs")))
    index_keys = (
        index_key(GATEWAY, text(reference.get("namespace")) or home, text(reference.get("name")))
        for reference in references
        if reference.get("kind", GATEWAY) == GATEWAY
    )
    return tuple(dict.fromkeys(index_keys))


def of_set(obj: Object) -> tuple[ServiceKey, ...]:
    """Meet PodGroups that are made for a LeaderWorkerSet, and whoever has a name that its service needs."""
    metadata = mapping(obj.get("metadata"))
    service = text(mapping(metadata.get("labels")).get(SERVICE))
    taken = (of_picker(text(metadata.get("namespace")), service),) if service else ()
    return tuple(dict.fromkeys((*own(lws.KIND, obj), *taken)))


def of_picker(namespace: str, service: str) -> ServiceKey:
    """Meet the LeaderWorkerSet that has the name of a service's endpoint picker, and so makes its Service."""
    return index_key(lws.KIND, namespace, picker_name(service))
