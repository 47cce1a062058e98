"""Index keys relate objects that share no label, so that a change of one reconciles the other's service."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from intent import Object, lws
from intent.annotations import SERVICE
from intent.gang import pod_group_name
from intent.inferenceservice.v1alpha1 import KIND as ISVC
from intent.inferencetemplate.v1alpha1 import KIND as TEMPLATE
from intent.lws import read_revision
from intent.names import service_names
from intent.service.member import Member, ServiceKey
from intent.shapes import mapping, text

GATEWAY: Final = "Gateway"
INFERENCE_POOL: Final = "InferencePool"
POD_GROUP: Final = "PodGroup"
HTTP_ROUTE: Final = "HTTPRoute"
EJECTED: Final = "ejected"
"""In place of a kind, in the key of ejected LeaderWorkerSets, whose templates name a PodGroup."""


class IndexKey(NamedTuple):
    """An object that others name, or that has a name of theirs."""

    kind: str
    namespace: str
    name: str


Key = ServiceKey | IndexKey
"""What a row of a cache is found by: its service, and objects that it names."""


class Wake(NamedTuple):
    """What a change of an object with an index key wakes."""

    found_in: tuple[str, ...]
    """The kinds whose rows with this key have the services."""
    changed: frozenset[str] = frozenset()
    """The kinds of which a change counts; empty: all that have the key."""


WAKES: Final[Mapping[str, Wake]] = {
    GATEWAY: Wake((HTTP_ROUTE,), frozenset({GATEWAY})),
    INFERENCE_POOL: Wake((HTTP_ROUTE,), frozenset({INFERENCE_POOL})),
    TEMPLATE: Wake((ISVC,), frozenset({TEMPLATE})),
    lws.KIND: Wake((lws.KIND,)),
    POD_GROUP: Wake((lws.KIND, POD_GROUP)),
    EJECTED: Wake((lws.KIND,)),
}
"""A change of this kind wakes these services, by the kind of the index key.

A change of a Gateway, a pool or a template wakes all services that name it; a change of an object that names
it wakes none but its own, otherwise one tenant would have the services of all others reconciled. For the same
reason a change of a LeaderWorkerSet wakes no services whose autoscalers name it. A change of an ejected
LeaderWorkerSet wakes the service of its group's name, and the members that share its PodGroup.
"""


def service_keys(
    key: Key, services_of: Callable[[str, IndexKey], Iterable[ServiceKey]]
) -> tuple[ServiceKey, ...]:
    """Return the services that a changed key wakes: the service itself, or those of objects with the key.

    `services_of` returns the services of the objects of a kind with an index key.
    """
    if not isinstance(key, IndexKey):
        return (key,)
    group = [(key.namespace, key.name)] if key.kind == EJECTED else []
    at = key._replace(kind=POD_GROUP) if group else key
    found = (one for kind in WAKES[at.kind].found_in for one in services_of(kind, at))
    return tuple(dict.fromkeys((*group, *found)))


def concerns(kind: str, key: Key) -> bool:
    """Return whether a change of an object of a kind wakes the services with one of its keys."""
    return not isinstance(key, IndexKey) or kind in (WAKES[key.kind].changed or {kind})


def own_key(kind: str, obj: Object) -> tuple[IndexKey, ...]:
    """Return the index key of an object itself."""
    metadata = mapping(obj.get("metadata"))
    return (IndexKey(kind, text(metadata.get("namespace")), text(metadata.get("name"))),)


def leader_worker_set_keys(obj: Object, one: Member | None) -> tuple[Key, ...]:
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
        reserved = (*reserved, IndexKey(POD_GROUP, namespace, pod_group_name(service, revision)))
    named = ((namespace, one.service),) if one and one.service else ()
    grouped = (IndexKey(EJECTED, namespace, one.group),) if one and one.group else ()
    return tuple(dict.fromkeys((*own_key(lws.KIND, obj), *reserved, *named, *grouped)))


def namesake_keys(namespace: str, service: str) -> tuple[IndexKey, ...]:
    """Return the index keys of LeaderWorkerSets that have the name of one of a service's Services.

    LWS creates a headless Service of its own name, which conflicts with ours.
    """
    return tuple(IndexKey(lws.KIND, namespace, name) for name in service_names(service))
