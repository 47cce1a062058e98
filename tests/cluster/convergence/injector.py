"""Another mutating webhook: it writes into every LeaderWorkerSet of some namespaces (`server.injector`)."""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import jsonpatch

from tests.cluster.testbed.api import create, delete, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.echo import LWS_RULE
from tests.cluster.testbed.stand_in import Reply, answering, reviewed
from tests.laws.convergence.server import injector

NAMES: Final = {"before": "m-injector", "after": "z-injector"}
"""The order of the names is that of the calls; the other names are `lws-…` and `mutate.fusioninfer.io`."""
RESOURCE: Final = "mutatingwebhookconfigurations"


@contextmanager
def injecting(cluster: Cluster, place: str, labels: Mapping[str, str]) -> Iterator[None]:
    """Run the webhook before or after ours, for the namespaces with these labels.

    It is not called again after ours, as most are not: `reinvocationPolicy` is Never by default.
    """
    with answering(_answer, cluster.directory / "webhook") as port:
        webhook = {
            "name": "injector.example.com",
            "clientConfig": {
                "url": f"https://127.0.0.1:{port}/",
                "caBundle": base64.b64encode(cluster.authority_pem).decode(),
            },
            "rules": [LWS_RULE],
            "namespaceSelector": {"matchLabels": dict(labels)},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
        try:
            create(cluster.api, path(RESOURCE), {"metadata": {"name": NAMES[place]}, "webhooks": [webhook]})
            yield
        finally:
            delete(cluster.api, path(RESOURCE, "", NAMES[place]))


def _answer(_where: str, body: bytes) -> Reply:
    """Answer a review with a JSON patch."""
    request = json.loads(body)["request"]
    patch = jsonpatch.make_patch(request["object"], injector(request["object"]))
    return reviewed(request["uid"], patch.to_string().encode())
