"""A webhook that allows everything and keeps what it is sent: what an admission webhook really receives.

It can fail first, to see what the API server makes of that.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from intent import Object
from tests.cluster.testbed.api import create, delete, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.stand_in import Reply, answering, reviewed
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

    def answer(self, where: str, body: bytes) -> Reply | None:
        """Answer a review with yes, after all failures."""
        request = json.loads(body)["request"]
        self.received.append({"path": where, **request})
        if self.failures:
            status, headers = self.failures.pop(0)
            return Reply(status, b"not now", headers) if status else None
        is_patched = where == "/mutate" and self.operations
        return reviewed(request["uid"], json.dumps(self.operations).encode() if is_patched else b"")


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
    with answering(script.answer, cluster.directory / "webhook") as port:
        try:
            for verb, kind in KINDS.items():
                configuration = _configuration(cluster, (name, namespace), port, verb)
                create(cluster.api, path(kind.lower() + "s"), configuration)
            until(lambda: _reached(cluster, namespace, script.received), "the echo is called")
            script.received.clear()
            script.operations.extend(operations)
            script.failures.extend(failures)
            yield script.received
        finally:
            for kind in KINDS.values():
                delete(cluster.api, path(kind.lower() + "s", "", name))


def _configuration(cluster: Cluster, where: tuple[str, str], port: int, verb: str) -> Object:
    name, namespace = where
    bundle = base64.b64encode(cluster.authority_pem).decode()
    webhook = {
        "name": "echo.fusioninfer.io",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/{verb}", "caBundle": bundle},
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
