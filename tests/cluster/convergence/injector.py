"""Another mutating webhook: it writes into every LeaderWorkerSet of some namespaces (`server.injector`)."""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Final

import jsonpatch

from tests.cluster.testbed.api import create, delete, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.echo import LWS_RULE, serve
from tests.laws.convergence.server import injector

NAMES: Final = {"before": "m-injector", "after": "z-injector"}
"""The order of the names is that of the calls; the other names are `lws-…` and `mutate.fusioninfer.io`."""
RESOURCE: Final = "mutatingwebhookconfigurations"


@contextmanager
def injecting(cluster: Cluster, place: str, labels: Mapping[str, str]) -> Iterator[None]:
    """Run the webhook before or after ours, for the namespaces with these labels.

    It is not called again after ours, as most are not: `reinvocationPolicy` is Never by default.
    """
    server = serve(cluster, _Handler)
    webhook = {
        "name": "injector.example.com",
        "clientConfig": {
            "url": f"https://127.0.0.1:{server.server_port}/",
            "caBundle": base64.b64encode(cluster.authority_pem).decode(),
        },
        "rules": [LWS_RULE],
        "namespaceSelector": {"matchLabels": dict(labels)},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    configuration = {"metadata": {"name": NAMES[place]}, "webhooks": [webhook]}
    try:
        create(cluster.api, path(RESOURCE), configuration)
        yield
    finally:
        delete(cluster.api, path(RESOURCE, "", NAMES[place]))
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers each review with a JSON patch."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        patch = jsonpatch.make_patch(request["object"], injector(request["object"])).to_string()
        response = {
            "uid": request["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(patch.encode()).decode(),
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Log nothing."""
