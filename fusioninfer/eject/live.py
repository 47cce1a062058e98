"""Read from a cluster what belongs to services: their InferenceServices, members, PodGroups and routes.

Only reads. Objects are named by files, of which kind, namespace and name count, or as KIND/NAME.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from fusioninfer.eject.manifests import NOT_EXPANDED, problems
from fusioninfer.eject.service import LiveService, belongs
from fusioninfer.files.documents import Document
from fusioninfer.files.offline import is_inferenceservice, is_lws
from intent import Object
from intent.annotations import SERVICE
from intent.names import is_dns_1035_label
from intent.service.member import ServiceKey, ejected, member
from intent.shapes import mapping, text
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client, connect
from kube.request import get, page
from kube.wire import read_at_any_depth, read_object
from sync.kinds import AUTOSCALER, INFERENCE_SERVICE, LWS, POD_GROUP, ROUTE_KINDS, Kind

KINDS: Final[dict[str, Kind[Any]]] = {kind.kind: kind for kind in (LWS, INFERENCE_SERVICE)}
WORDS: Final[dict[str, str]] = {
    word: kind.kind
    for kind, words in (
        (LWS, ("lws", "leaderworkerset", "leaderworkersets")),
        (INFERENCE_SERVICE, ("isvc", "inferenceservice", "inferenceservices")),
    )
    for word in words
}
"""The words for a kind in KIND/NAME, as kubectl has them."""
FORBIDDEN: Final = (401, 403)


@dataclass(frozen=True, slots=True)
class Target:
    """An object that a user named."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Return kind, namespace and name, as messages show them."""
        return f"{self.kind} {self.namespace}/{self.name}"


class UnreadableClusterError(Exception):
    """Raised if the cluster does not answer completely: what is missing cannot be ejected."""


def target(word: str, namespace: str) -> Target | None:
    """Return the object that KIND/NAME names; None if a word is a path."""
    kind, slash, name = word.partition("/")
    known = WORDS.get(kind.lower().partition(".")[0])
    return Target(known, namespace, name) if known and slash and is_dns_1035_label(name) else None


def targets(documents: Iterable[Document], namespace: str) -> Iterator[Target | Document]:
    """Yield the LeaderWorkerSets and InferenceServices of files; a document if it has no name.

    Other kinds are left out.
    """
    for document in documents:
        kind = _kind_of(document.object)
        metadata = mapping(document.object.get("metadata"))
        name = text(metadata.get("name"))
        if kind:
            home = text(metadata.get("namespace")) or namespace
            yield Target(kind, home, name) if is_dns_1035_label(name) else document


def _kind_of(obj: Object) -> str:
    if is_lws(obj):
        return LWS.kind
    return INFERENCE_SERVICE.kind if is_inferenceservice(obj) else ""


NamedServices = dict[ServiceKey, set[tuple[str, str]]]
"""Kind and name of the objects that a user named, by service."""


async def read_services(
    kubeconfig: str | None, context: str | None, wanted: Iterable[Target]
) -> tuple[tuple[LiveService, ...], list[str]]:
    """Read the services of the wanted objects, and return why some cannot be ejected.

    Raises `kube.client.ConfigError`, or `UnreadableClusterError`.
    """
    client = await connect(kubeconfig, context)
    try:
        named, found = await find_services(client, wanted)
        services = [await read_service(client, key) for key in named]
    finally:
        await client.close()
    for key, service in zip(named, services, strict=True):
        found.extend(problems(service, frozenset(named[key])))
    return tuple(services), found


async def find_services(client: Client, wanted: Iterable[Target]) -> tuple[NamedServices, list[str]]:
    """Return the services of the wanted objects, and which objects have none.

    Raises `UnreadableClusterError`.
    """
    named: NamedServices = defaultdict(set)
    missing: list[str] = []
    for one in dict.fromkeys(wanted):
        found = await _get(client, KINDS[one.kind], one.namespace, one.name)
        if found is None:
            missing.append(f"{one}: not found; check the name, -n and --context")
            continue
        service = one.name if one.kind == INFERENCE_SERVICE.kind else _service_of(found)
        if service:
            named[one.namespace, service].add((one.kind, one.name))
        else:
            missing.append(f"{one}: {NOT_EXPANDED}")
    return dict(named), missing


def _service_of(lws: Object) -> str:
    """Return the service of a LeaderWorkerSet, annotated or ejected; empty if it has none."""
    one = member(lws) or ejected(lws)
    return (one.service or one.group) if one else ""


async def read_service(client: Client, key: ServiceKey) -> LiveService:
    """Read everything that may belong to a service. Raises `UnreadableClusterError`."""
    namespace, name = key
    label = f"{SERVICE}={name}"
    labelled = (AUTOSCALER, *ROUTE_KINDS)
    others = [obj for kind in labelled for obj in await _list(client, kind, namespace, label)]
    sets = [obj for obj in await _list(client, LWS, namespace) if belongs(obj, name)]
    named = dict.fromkeys([name, *(one.gang for obj in sets if (one := member(obj) or ejected(obj)))])
    groups = [group for one in named if (group := await _get(client, POD_GROUP, namespace, one))]
    return LiveService(
        namespace,
        name,
        await _get(client, INFERENCE_SERVICE, namespace, name),
        tuple(sets),
        (*groups, *others),
    )


async def _get(client: Client, kind: Kind[Any], namespace: str, name: str) -> Object | None:
    """Read one object; None if there is none, or no such kind."""
    try:
        return _complete(await client.call(get(kind.path(namespace, name))), kind)
    except ApiError as error:
        if error.code == NOT_FOUND:
            return None
        raise _unreadable(error, kind, namespace, "get") from error
    except NO_ANSWER as error:
        raise _unreadable(error, kind, namespace, "get") from error


async def _list(client: Client, kind: Kind[Any], namespace: str, label: str = "") -> list[Object]:
    """List the objects with a label, sorted by name; none if the cluster has no such kind."""
    found: list[Object] = []
    token = ""
    try:
        while True:
            answer = await client.page(page(kind.path(namespace), label, token))
            found += [_complete(await _item(item), kind) for item in answer.items or ()]
            token = answer.metadata.token
            if not token:
                return sorted(found, key=lambda obj: text(obj["metadata"]["name"]))
    except ApiError as error:
        if error.code == NOT_FOUND:
            return []
        raise _unreadable(error, kind, namespace, "list") from error
    except (*NO_ANSWER, orjson.JSONDecodeError) as error:
        raise _unreadable(error, kind, namespace, "list") from error


async def _item(text: Any) -> Object:
    """Parse one item of a page."""
    return mapping(await read_at_any_depth(read_object, bytes(text)))


def _complete(obj: Object, kind: Kind[Any]) -> Object:
    """Add what items of lists lack, in the order of a manifest."""
    return {"apiVersion": kind.resource.api_version, "kind": kind.kind} | obj


def _unreadable(error: Exception, kind: Kind[Any], namespace: str, verb: str) -> UnreadableClusterError:
    forbidden = isinstance(error, ApiError) and error.code in FORBIDDEN
    remedy = f"; you need the right to {verb} {kind.resource.plural}" if forbidden else ""
    why = str(error) or type(error).__name__
    return UnreadableClusterError(
        f"cannot {verb} {kind.resource.plural} in namespace {namespace}: {why}{remedy}"
    )
