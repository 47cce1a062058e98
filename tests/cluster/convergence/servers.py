"""The two servers of the law as namespaces of one API server: A without our webhooks, B with them.

A third namespace expands: our mutating webhook is called there and our validating one is not, since an update
may keep what a CREATE may not have. Each exists three times: without another webhook, and with one before and
after ours. LWS's own webhooks are called in all of them. Nothing runs there: a policy refuses the first
object that LWS's controller makes, a ControllerRevision, so that no status is written and no pod is made.
"""

import base64
import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jsonpatch

from intent import Object
from intent.annotations import EXPANSION, SERVICE
from tests.cluster.convergence.library import Library, library_of
from tests.cluster.testbed.admissions import CONFIGURATIONS
from tests.cluster.testbed.api import ApiError, amend, create, delete, get, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.echo import LWS_RULE
from tests.cluster.testbed.stand_in import Reply, answering, reviewed
from tests.cluster.testbed.wait import until
from tests.laws.convergence.server import injector

# --- another mutating webhook -------------------------------------------------------------------------
# It writes into every LeaderWorkerSet of some namespaces (`tests.laws.convergence.server.injector`).

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


WITHOUT: Final = "a"
WITH: Final = "b"
EXPANDING: Final = "expand"
OTHERS: Final = ("", "before", "after")
"""Where another webhook is called; the first is nowhere."""
NOT_MUTATED: Final = "convergence.example/not-mutated"
NOT_CHECKED: Final = "convergence.example/not-checked"
OTHER: Final = "convergence.example/other"
"""Labels of namespaces. Our webhooks are not called in those with the first and with the second."""
LABELS: Final[dict[str, dict[str, str]]] = {
    WITHOUT: {NOT_MUTATED: "", NOT_CHECKED: ""},
    WITH: {},
    EXPANDING: {NOT_CHECKED: ""},
}
POLICY: Final = "nothing-runs.convergence.example"
REFUSING: Final[dict[str, Object]] = {
    "validatingadmissionpolicies": {
        "matchConstraints": {
            "namespaceSelector": {"matchExpressions": [{"key": OTHER, "operator": "Exists"}]},
            "resourceRules": [
                {
                    "apiGroups": ["apps"],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["controllerrevisions"],
                }
            ],
        },
        "validations": [{"expression": "false", "message": "nothing runs here"}],
    },
    "validatingadmissionpolicybindings": {"policyName": POLICY, "validationActions": ["Deny"]},
}
"""The policy that refuses what LWS makes, and its binding."""
SELECTORS: Final = "/webhooks/0/namespaceSelector/matchExpressions"
LEFT: Final = ("leaderworkersets", "secrets", "inferencetemplates")
"""What sequences leave: objects, the releases of Helm, and templates."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The namespaces of one API server, and the programs and the folder of its clients."""

    cluster: Cluster
    helm: Path
    folder: Path
    prefix: str = "convergence"
    library: Library | None = None
    """Of sequences with templates."""

    def namespace(self, side: str, other: str) -> str:
        """Return the namespace of a side, with another webhook or without."""
        return "-".join(filter(None, (self.prefix, side, other)))


@contextmanager
def serving(cluster: Cluster, helm: Path, folder: Path, *, templates: bool = False) -> Iterator[Servers]:
    """Make the namespaces; at the end remove what is in them, and call our webhooks everywhere again.

    With templates, the webhook of the cluster reads them.
    """
    with ExitStack() as stack:
        library = stack.enter_context(library_of(cluster)) if templates else None
        servers = Servers(cluster, helm, folder, library=library)
        for side, labels in LABELS.items():
            for other in OTHERS:
                _add(servers, side, other, labels)
        for where, label in zip(CONFIGURATIONS, (NOT_MUTATED, NOT_CHECKED), strict=True):
            stack.enter_context(_not_called(cluster, where, label))
        for resource, spec in REFUSING.items():
            create(cluster.api, path(resource), {"metadata": {"name": POLICY}, "spec": spec})
            stack.callback(delete, cluster.api, path(resource, "", POLICY))
        for other in OTHERS[1:]:
            stack.enter_context(injecting(cluster, other, {OTHER: other}))
        until(lambda: _is_ready(servers), "our webhooks are called in two of three namespaces")
        yield servers
        for side in LABELS:
            for other in OTHERS:
                for resource in LEFT:
                    delete(cluster.api, path(resource, servers.namespace(side, other)))


def _add(servers: Servers, side: str, other: str, labels: dict[str, str]) -> None:
    name, api = servers.namespace(side, other), servers.cluster.api
    create(api, path("namespaces"), {"metadata": {"name": name, "labels": labels | {OTHER: other}}})


@contextmanager
def _not_called(cluster: Cluster, where: str, label: str) -> Iterator[None]:
    """Exclude the namespaces with a label from the webhook for LeaderWorkerSets, for a while."""
    before = get(cluster.api, where)["webhooks"][0]["namespaceSelector"]["matchExpressions"]
    more = [*before, {"key": label, "operator": "DoesNotExist"}]
    amend(cluster.api, where, [{"op": "replace", "path": SELECTORS, "value": more}])
    try:
        yield
    finally:
        amend(cluster.api, where, [{"op": "replace", "path": SELECTORS, "value": before}])


def _is_ready(servers: Servers) -> bool:
    """Return whether each side is expanded and injected as it should be, and nothing can be made there."""
    found = {(side, other): _trial(servers, side, other) for side in LABELS for other in OTHERS}
    return all(
        (EXPANSION in str(trial), "injected.example/by" in str(trial)) == (side != WITHOUT, bool(other))
        for (side, other), trial in found.items()
    ) and all(_is_refused(servers, side, other) for side, other in found)


def _trial(servers: Servers, side: str, other: str) -> Object:
    trial = {**TRIAL_LWS, "metadata": {"name": "trial", "annotations": {SERVICE: "trial"}}}
    where = path("leaderworkersets", servers.namespace(side, other))
    return create(servers.cluster.api, where, trial, dryRun="All")


def _is_refused(servers: Servers, side: str, other: str) -> bool:
    where = path("controllerrevisions", servers.namespace(side, other))
    revision = {"metadata": {"name": "trial"}, "revision": 1}
    try:
        create(servers.cluster.api, where, revision, dryRun="All")
    except ApiError as error:
        return error.status == http.client.UNPROCESSABLE_ENTITY
    return False
