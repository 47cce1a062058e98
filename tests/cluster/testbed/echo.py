"""A webhook that allows everything and keeps what it is sent: what an admission webhook really receives.

It can fail first, to see what the API server makes of that.
"""

import base64
import json
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from intent import Object
from tests.cluster.testbed.api import create, delete, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.wait import until

LWS_RULE: Final = {
    "apiGroups": ["leaderworkerset.x-k8s.io"],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["leaderworkersets"],
}
Operations = Sequence[Object]
Failure = tuple[int, Mapping[str, str]]
"""A status, which is no review, and headers; status 0 ends the connection without an answer."""
KINDS: Final = {"mutate": "MutatingWebhookConfiguration", "validate": "ValidatingWebhookConfiguration"}


@dataclass(slots=True)
class _Script:
    """What was received, and how it is answered."""

    received: list[Object] = field(default_factory=list)
    operations: list[Object] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@contextmanager
def echo(
    cluster: Cluster, name: str, namespace: str, operations: Operations = (), failures: Sequence[Failure] = ()
) -> Iterator[list[Object]]:
    """Register a mutating and a validating webhook for one namespace's LeaderWorkerSets.

    Yields the requests of AdmissionReviews as they come, each with the path it came to under `path`;
    `/mutate` answers with the operations of a JSON patch, if there are any. The first requests get the
    failures, one each.
    Mutating webhooks are called in the order of their configurations' names; LWS's begins with `lws-`.
    """
    script = _Script()
    server = serve(cluster, _handler(script))
    try:
        for verb, kind in KINDS.items():
            create(
                cluster.api,
                path(kind.lower() + "s"),
                _configuration(cluster, (name, namespace), server, verb),
            )
        until(lambda: _reached(cluster, namespace, script.received), "the echo is called")
        script.received.clear()
        script.operations.extend(operations)
        script.failures.extend(failures)
        yield script.received
    finally:
        for kind in KINDS.values():
            delete(cluster.api, path(kind.lower() + "s", "", name))
        server.shutdown()
        server.server_close()


def serve(cluster: Cluster, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """Serve on loopback with the certificate of the webhook."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates = cluster.directory / "webhook"
    tls.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _handler(script: _Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers every review with yes, once it has failed as often as it was told to."""

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
            where = self.path.split("?")[0]
            script.received.append({"path": where, **request})
            status, headers = script.failures.pop(0) if script.failures else (200, {})
            if status:
                body = _review({"uid": request["uid"], "allowed": True, **_patch(where, script.operations)})
                self._answer(status, headers, body if status == HTTPStatus.OK else b"not now")

        def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Log nothing."""

    return Handler


def _review(response: Object) -> bytes:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return json.dumps(review).encode()


def _patch(where: str, operations: Operations) -> Object:
    if where != "/mutate" or not operations:
        return {}
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(operations).encode()).decode()}


def _configuration(
    cluster: Cluster, where: tuple[str, str], server: ThreadingHTTPServer, verb: str
) -> Object:
    name, namespace = where
    bundle = base64.b64encode(cluster.authority_pem).decode()
    webhook = {
        "name": "echo.fusioninfer.io",
        "clientConfig": {"url": f"https://127.0.0.1:{server.server_port}/{verb}", "caBundle": bundle},
        "rules": [LWS_RULE],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        **({"reinvocationPolicy": "IfNeeded"} if verb == "mutate" else {}),
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": KINDS[verb]}
    return {**kind, "metadata": {"name": name}, "webhooks": [webhook]}


def _reached(cluster: Cluster, namespace: str, received: list[Object]) -> bool:
    """Send a dry run; return whether both paths have seen one."""
    create(cluster.api, path("leaderworkersets", namespace), TRIAL_LWS, dryRun="All")
    return {request["path"] for request in received} == {"/mutate", "/validate"}
