"""Raw JSON calls to an API server, which may be killed between any two.

Connections are kept for the next call: tests ask often, and a handshake costs each side more than an answer.
"""

import http.client
import json
import select
import ssl
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

from intent import Object
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.wait import until

GROUPS: Final = {
    "namespaces": "/api/v1",
    "nodes": "/api/v1",
    "pods": "/api/v1",
    "services": "/api/v1",
    "events": "/api/v1",
    "configmaps": "/api/v1",
    "secrets": "/api/v1",
    "serviceaccounts": "/api/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "deployments": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "controllerrevisions": "/apis/apps/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "leaderworkersets": "/apis/leaderworkerset.x-k8s.io/v1",
    "disaggregatedsets": "/apis/disaggregatedset.x-k8s.io/v1",
    "podgroups": "/apis/scheduling.volcano.sh/v1beta1",
    "queues": "/apis/scheduling.volcano.sh/v1beta1",
    "mutatingwebhookconfigurations": "/apis/admissionregistration.k8s.io/v1",
    "validatingwebhookconfigurations": "/apis/admissionregistration.k8s.io/v1",
    "validatingadmissionpolicies": "/apis/admissionregistration.k8s.io/v1",
    "validatingadmissionpolicybindings": "/apis/admissionregistration.k8s.io/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
    "inferenceservices": "/apis/fusioninfer.io/v1alpha1",
    "inferencetemplates": "/apis/fusioninfer.io/v1alpha1",
    "httproutes": "/apis/gateway.networking.k8s.io/v1",
    "gateways": "/apis/gateway.networking.k8s.io/v1",
    "ingresses": "/apis/networking.k8s.io/v1",
    "inferencepools": "/apis/inference.networking.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "destinationrules": "/apis/networking.istio.io/v1",
    "inferenceobjectives": "/apis/inference.networking.x-k8s.io/v1alpha2",
    "certificates": "/apis/cert-manager.io/v1",
}
"""Where a resource lives: its group and version by its plural name."""

MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"


class ApiError(Exception):
    """The API server refused: the HTTP status, and the Status object or what it sent instead."""

    def __init__(self, status: int, body: Object) -> None:
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status = status
        self.body = body


@dataclass(frozen=True, slots=True)
class Api:
    """An API server, who calls it, and the file of the authority its certificate is checked against."""

    url: str
    token: str
    authority: Path


def path(resource: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Return the path of a resource, or of one object, or of its subresource."""
    scope = ("namespaces", namespace) if namespace else ()
    return "/".join([GROUPS[resource], *scope, resource, *filter(None, (name, subresource))])


def call(
    api: Api,
    method: str,
    target: str,
    body: Object | list[Object] | None = None,
    media: str = "application/json",
) -> Object:
    """Make one call to a path and query; raise ApiError unless the answer is a success."""
    connection = _connection(api)
    headers = {"Authorization": f"Bearer {api.token}", "Content-Type": media}
    try:
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        answer = _parsed(response.read())
    except BaseException:
        connection.close()
        raise
    KEPT[api].append(connection)
    if response.status >= http.client.BAD_REQUEST:
        raise ApiError(response.status, answer)
    return answer


def get(api: Api, where: str, **query: str) -> Object:
    """Read an object or a list."""
    return call(api, "GET", _target(where, query))


def get_or_none(api: Api, where: str) -> Object | None:
    """Read an object; None if it, or its resource, does not exist."""
    try:
        return get(api, where)
    except ApiError as error:
        if error.status == http.client.NOT_FOUND:
            return None
        raise


def refusal(act: Callable[[], object]) -> str:
    """Do something; return why the API server refused it, or nothing."""
    try:
        act()
    except ApiError as error:
        return str(error)
    return ""


def items(api: Api, where: str, **query: str) -> list[Object]:
    """List objects; none where the resource itself does not exist."""
    try:
        return list(get(api, where, **query)["items"])
    except ApiError as error:
        if error.status == http.client.NOT_FOUND:
            return []
        raise


def await_object(api: Api, where: str) -> Object:
    """Wait until an object exists that a controller makes, and return it."""
    of_kind, _, name = where.rpartition("/")
    found, *_ = until(lambda: items(api, of_kind, fieldSelector=f"metadata.name={name}"), f"{where} exists")
    return found


def create(api: Api, where: str, body: Object, **query: str) -> Object:
    """Create an object (POST to the resource's path)."""
    return call(api, "POST", _target(where, query), body)


def update(api: Api, where: str, body: Object, **query: str) -> Object:
    """Replace an object (PUT)."""
    return call(api, "PUT", _target(where, query), body)


def edit(api: Api, where: str, change: Callable[[Object], Object]) -> Object:
    """Replace an object by a change of what is stored, again where another client wrote in between (409)."""
    answers: list[Object] = []

    def is_replaced() -> bool:
        try:
            answers.append(update(api, where, change(get(api, where))))
        except ApiError as error:
            if error.status == http.client.CONFLICT:
                return False
            raise
        return True

    until(is_replaced, f"{where} is replaced")
    return answers[-1]


def patch(api: Api, where: str, body: Object, **query: str) -> Object:
    """Merge into an object (RFC 7396)."""
    return call(api, "PATCH", _target(where, query), body, MERGE_PATCH)


def amend(api: Api, where: str, operations: list[Object]) -> Object:
    """Change an object by a JSON patch (RFC 6902)."""
    return call(api, "PATCH", where, operations, JSON_PATCH)


def apply(api: Api, where: str, body: Object, manager: str = "tests", *, force: bool = False) -> Object:
    """Apply an object server-side."""
    query = {"fieldManager": manager, "force": str(force).lower()}
    return call(api, "PATCH", _target(where, query), body, APPLY_PATCH)


def delete(api: Api, where: str, **query: str) -> None:
    """Delete an object or a collection; it is no error if there is none."""
    try:
        call(api, "DELETE", _target(where, query))
    except ApiError as error:
        if error.status != http.client.NOT_FOUND:
            raise


KEPT: Final[defaultdict[Api, deque[http.client.HTTPSConnection]]] = defaultdict(deque)
"""Connections on which no call is under way; any thread may take one."""


def _connection(api: Api) -> http.client.HTTPSConnection:
    """Return a connection that was kept and that the server has not ended, else a new one."""
    with suppress(IndexError):
        while True:
            kept = KEPT[api].pop()
            if kept.sock and not select.select([kept.sock], [], [], 0)[0]:
                return kept
            kept.close()
    place = urlsplit(api.url)
    return http.client.HTTPSConnection(
        place.hostname or "", place.port, timeout=PATIENCE, context=_tls(api.authority)
    )


@lru_cache
def _tls(authority: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority))


def _target(where: str, query: Mapping[str, str]) -> str:
    return f"{where}?{urlencode(query)}" if query else where


def _parsed(body: bytes) -> Object:
    try:
        answer = json.loads(body)
    except ValueError:
        return {"message": body.decode(errors="replace")}
    return answer if isinstance(answer, dict) else {"message": answer}
