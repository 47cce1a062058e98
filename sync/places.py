"""Keys under which objects meet that share no label: a change of one is a reason to look at the other."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from intent import Object, lws
from intent.annotations import SERVICE
from intent.names import picker_name
from intent.service.member import ServiceKey
from intent.shapes import mapping

GATEWAY: Final = "Gateway"


def place(kind: str, namespace: str, name: str) -> ServiceKey:
    """Give the key of an object's name; no service has a slash in its name."""
    return namespace, f"{kind}/{name}"


def service_keys(key: ServiceKey, rows: Callable[[ServiceKey], Iterator[Any]]) -> tuple[ServiceKey, ...]:
    """Give the services that a key is about: itself, or those of the rows that meet there."""
    if "/" not in key[1]:
        return (key,)
    return tuple({(row.namespace, row.service): None for row in rows(key) if row.service})


def own(kind: str, obj: Object) -> tuple[ServiceKey, ...]:
    """Meet those who look for an object of its name."""
    return (place(kind, obj["metadata"]["namespace"], obj["metadata"]["name"]),)


def of_parents(route: Object) -> tuple[ServiceKey, ...]:
    """Meet the Gateways on which an HTTPRoute hangs; those without a namespace are in its own."""
    references = route.get("spec", {}).get("parentRefs") or ()
    home = route["metadata"].get("namespace", "")
    return tuple(
        place(GATEWAY, reference.get("namespace", home), reference["name"])
        for reference in references
        if reference.get("kind", GATEWAY) == GATEWAY
    )


def of_set(obj: Object) -> tuple[ServiceKey, ...]:
    """Meet PodGroups that are made for a LeaderWorkerSet, and whoever has a name that its service needs."""
    metadata = obj["metadata"]
    service = mapping(metadata.get("labels")).get(SERVICE)
    taken = (of_picker(metadata.get("namespace", ""), service),) if isinstance(service, str) else ()
    return (*own(lws.KIND, obj), *taken)


def of_picker(namespace: str, service: str) -> ServiceKey:
    """Meet the LeaderWorkerSet that has the name of a service's endpoint picker, and so makes its Service."""
    return place(lws.KIND, namespace, picker_name(service))
