"""KServe's controller of LLMInferenceServices as a process, and what it makes of a service.

It needs an API server alone: nothing runs pods. Its certificate is in the folder where controller-runtime
looks for it. Both of its kinds are converted between their versions by its webhook.
"""

import base64
import copy
import http.client
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from intent import Object
from intent.shapes import listed, mapping, text
from tests.builders.patience import PATIENCE
from tests.cluster.kserve.inputs import documents
from tests.cluster.testbed.api import ApiError, call, create, items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig
from tests.cluster.testbed.components import http_ok
from tests.cluster.testbed.control_plane import start_process, wait_ready
from tests.cluster.testbed.install import all_established, on_loopback
from tests.cluster.testbed.pki import issue
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.wait import until

LLMISVC: Final = "llmisvc"
NAMESPACE: Final = "kserve"
PRESETS: Final = "config/llmisvcconfig"
GATEWAY: Final = "kserve-ingress-gateway"
SERVICES: Final = "/apis/serving.kserve.io/v1alpha2"
CONVERTED: Final = ("llminferenceservices", "llminferenceserviceconfigs")
GATEWAY_API: Final = "/apis/gateway.networking.k8s.io/v1"
GATEWAY_CLASS: Final[Object] = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "GatewayClass",
    "metadata": {"name": "none"},
    "spec": {"controllerName": "example.com/none"},
}
CONFIGURATION: Final[dict[str, Any]] = {
    "ingress": {
        "enableGatewayApi": True,
        "enableLLMInferenceServiceTLS": False,
        "kserveIngressGateway": f"{NAMESPACE}/{GATEWAY}",
        "ingressGateway": f"{NAMESPACE}/{GATEWAY}",
        "localGateway": f"{NAMESPACE}/{GATEWAY}",
        "localGatewayService": f"{GATEWAY}.{NAMESPACE}.svc.cluster.local",
    },
    "storageInitializer": {
        "image": "kserve/storage-initializer:v0.20.0",
        "cpuRequest": "100m",
        "memoryRequest": "100Mi",
        "cpuLimit": "1",
        "memoryLimit": "1Gi",
        "enableModelcar": True,
    },
    "credentials": {"s3": {"s3AccessKeyIDName": "AWS_ACCESS_KEY_ID", "s3SecretAccessKeyName": "AWS_SECRET"}},
    "autoscaling-wva-controller-config": {"prometheus": {"url": "http://prometheus.monitoring:9090"}},
}
"""Its own ConfigMap. Without TLS between pods, its presets add what FusionInfer has too."""
PICKER: Final[Object] = {
    "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
    "kind": "EndpointPickerConfig",
    "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}],
    "schedulingProfiles": [
        {
            "name": "default",
            "plugins": [{"pluginRef": "queue-scorer", "weight": 1}, {"pluginRef": "max-score-picker"}],
        }
    ],
}
"""What is in a ConfigMap to which a router refers."""
MADE: Final = {
    "Deployment": "/apis/apps/v1/deployments",
    "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
    "HTTPRoute": GATEWAY_API + "/httproutes",
    "InferencePool": "/apis/inference.networking.k8s.io/v1/inferencepools",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/horizontalpodautoscalers",
    "VariantAutoscaling": "/apis/llmd.ai/v1alpha1/variantautoscalings",
    "ScaledObject": "/apis/keda.sh/v1alpha1/scaledobjects",
}
"""The kinds that it makes and that are compared."""
OTHERS: Final = (
    *("clusterservingruntimes", "inferencegraphs", "inferenceservices", "localmodel", "opentelemetry"),
    *("services.serving.knative", "servingruntimes", "trainedmodels"),
)
"""Custom resources of its module that its other controllers have."""
QUIET: Final = 4
"""Readings in a row that show the same: then it has made everything."""
EMPTY: Final = 30
"""Readings in a row without an object of a service: then it makes none. It tries again after an error."""
EACH: Final = 15
"""Seconds that it may take for a service: it makes a key of RSA for each, one service after another."""


def start_kserve(cluster: Cluster) -> None:
    """Start it with its presets, and let the API server call its webhooks."""
    install_definitions(cluster)
    ports = free_ports(("webhook", "health"))
    issue(cluster.authority, cluster.directory / LLMISVC / "k8s-webhook-server" / "serving-certs")
    for resource in CONVERTED:
        _convert(cluster, f"{resource}.serving.kserve.io", ports["webhook"])
    create(cluster.api, path("namespaces"), {"metadata": {"name": NAMESPACE}})
    data = {key: json.dumps(value) for key, value in CONFIGURATION.items()}
    configured = {"metadata": {"name": "inferenceservice-config"}, "data": data}
    create(cluster.api, path("configmaps", NAMESPACE), configured)
    _ensured(cluster, f"{GATEWAY_API}/gatewayclasses", GATEWAY_CLASS)
    _add_gateway(cluster, NAMESPACE, GATEWAY)
    arguments = [
        *(f"--kubeconfig={kubeconfig(cluster)}", "--metrics-addr=0", "--metrics-secure=false"),
        *(f"--webhook-port={ports['webhook']}", f"--health-probe-addr=127.0.0.1:{ports['health']}"),
    ]
    environment = {"POD_NAMESPACE": NAMESPACE, "TMPDIR": str(cluster.directory / LLMISVC)}
    start_process(cluster, LLMISVC, [str(cluster.built.binary(LLMISVC)), *arguments], environment)
    wait_ready(cluster, LLMISVC, lambda _: http_ok(ports["health"], "/readyz"))
    for preset in presets(cluster):
        until(partial(_is_created, cluster, NAMESPACE, preset), "KServe's webhook answers", every=0.5)
    _point_webhooks(cluster, ports["webhook"])


def install_definitions(cluster: Cluster) -> None:
    """Install the custom resources of its module; some stand in two files, and LWS's are there already."""
    for file in sorted(cluster.built.source("kserve", "test/crds").glob("*.yaml")):
        for one in documents(file.read_text()):
            if one["kind"] == "CustomResourceDefinition" and not one["metadata"]["name"].startswith(OTHERS):
                _ensured(cluster, path("customresourcedefinitions"), one)
    until(lambda: all_established(cluster), "KServe's custom resources are served", seconds=2 * PATIENCE)


def presets(cluster: Cluster) -> list[Object]:
    """Return KServe's presets, from its module."""
    folder = cluster.built.source("kserve", PRESETS)
    found = [one for file in sorted(folder.glob("config-*.yaml")) for one in documents(file.read_text())]
    return [{**one, "metadata": {**one["metadata"], "namespace": NAMESPACE}} for one in found]


def _convert(cluster: Cluster, definition: str, port: int) -> None:
    """Let the API server ask the process for the other version of an object."""
    called = {
        "url": f"https://127.0.0.1:{port}/convert",
        "caBundle": base64.b64encode(cluster.authority_pem).decode(),
        "service": None,
    }
    webhook = {"clientConfig": called, "conversionReviewVersions": ["v1", "v1beta1"]}
    where = path("customresourcedefinitions", name=definition)
    patch(cluster.api, where, {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}})


def _point_webhooks(cluster: Cluster, port: int) -> None:
    manifests = cluster.built.source("kserve", "config/webhook/llmisvc/manifests.yaml").read_text()
    for configuration in documents(manifests):
        made = on_loopback(configuration, port, cluster.authority_pem)
        made["metadata"].pop("creationTimestamp", None)
        create(cluster.api, path(made["kind"].lower() + "s"), made)


def _add_gateway(cluster: Cluster, namespace: str, name: str) -> None:
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    spec = {"gatewayClassName": "none", "listeners": [listener]}
    body = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": name},
        "spec": spec,
    }
    _ensured(cluster, f"{GATEWAY_API}/namespaces/{namespace}/gateways", body)


def _is_created(cluster: Cluster, namespace: str, obj: Object) -> bool:
    """Create one of its objects; return False while its webhook does not answer."""
    version = obj["apiVersion"].rpartition("/")[2]
    resource = obj["kind"].lower() + "s"
    where = f"/apis/serving.kserve.io/{version}/namespaces/{namespace}/{resource}"
    try:
        create(cluster.api, where, _in(namespace, obj), fieldValidation="Ignore")
    except ApiError as error:
        if "webhook" in str(error) and ("failed" in str(error) or "refused" in str(error)):
            return False
        raise
    return True


def _in(namespace: str, obj: Object) -> Object:
    made = copy.deepcopy(obj)
    made["metadata"]["namespace"] = namespace
    return made


# --- what it makes ------------------------------------------------------------------------------------


def made_of(cluster: Cluster, services: Mapping[str, Sequence[Object]]) -> dict[str, list[Object] | ApiError]:
    """Create services, each with its bases in a namespace of its own, and return what KServe makes of each.

    A service that the API server, or KServe's webhook, refuses has its answer instead.
    """
    answers = {namespace: _created(cluster, namespace, objects) for namespace, objects in services.items()}
    there = [namespace for namespace, answer in answers.items() if answer is None]
    until(
        lambda: all(_is_read(cluster, namespace) for namespace in there),
        "KServe has read all services",
        seconds=PATIENCE + EACH * len(there),
        every=1.0,
    )
    made = _at_rest(cluster, there)
    return {namespace: answer or made[namespace] for namespace, answer in answers.items()}


def _created(cluster: Cluster, namespace: str, objects: Sequence[Object]) -> ApiError | None:
    """Create a service with what it names; return the error of the API server, if it refuses one of them."""
    _ensured(cluster, path("namespaces"), {"metadata": {"name": namespace}})
    for name in {"default", *_accounts(list(objects))}:
        _ensured(cluster, path("serviceaccounts", namespace), {"metadata": {"name": name}})
    _add_named(cluster, namespace, objects)
    try:
        for one in sorted(objects, key=lambda one: one["kind"] == "LLMInferenceService"):
            until(partial(_is_created, cluster, namespace, one), "KServe's webhook answers", every=0.5)
    except ApiError as error:
        return error
    return None


def _is_read(cluster: Cluster, namespace: str) -> bool:
    """Return whether KServe has gone through a service once: it writes the status at the end."""
    found = items(cluster.api, f"{SERVICES}/namespaces/{namespace}/llminferenceservices")
    return all(mapping(one.get("status")).get("conditions") for one in found)


def conditions(cluster: Cluster, namespace: str) -> str:
    """Return the messages of the conditions of the services in a namespace."""
    found = items(cluster.api, f"{SERVICES}/namespaces/{namespace}/llminferenceservices")
    states = [state for one in found for state in listed(mapping(one.get("status")).get("conditions"))]
    return "\n".join(text(state.get("message")) for state in states)


def _at_rest(cluster: Cluster, namespaces: Sequence[str]) -> dict[str, list[Object]]:
    """Return the objects that are made once readings in a row show the same."""
    seen: list[dict[str, list[Object]]] = []

    def is_quiet() -> bool:
        seen.append(_made(cluster, namespaces))
        rows = QUIET if all(seen[-1].values()) else EMPTY
        return len(seen) >= rows and all(one == seen[-1] for one in seen[-rows:])

    until(is_quiet, "KServe has made all objects", seconds=PATIENCE + EACH * len(namespaces), every=1.0)
    return seen[-1]


def _made(cluster: Cluster, namespaces: Sequence[str]) -> dict[str, list[Object]]:
    """Return the objects that it owns, by namespace: others are the author's."""
    found: dict[str, list[Object]] = {namespace: [] for namespace in namespaces}
    for kind, where in MADE.items():
        for one in items(cluster.api, where):
            metadata = one["metadata"]
            if "ownerReferences" in metadata and metadata["namespace"] in found:
                known = {key: metadata.get(key) for key in ("name", "labels")}
                made = {"kind": kind, "metadata": known, "spec": one["spec"]}
                found[metadata["namespace"]].append(made)
    return found


def _accounts(value: Any) -> Iterable[str]:
    """Yield the ServiceAccounts that pods name."""
    if isinstance(value, dict):
        if isinstance(value.get("serviceAccountName"), str):
            yield value["serviceAccountName"]
        for below in value.values():
            yield from _accounts(below)
    elif isinstance(value, list):
        for below in value:
            yield from _accounts(below)


def _add_named(cluster: Cluster, namespace: str, objects: Sequence[Object]) -> None:
    """Create the Gateways, HTTPRoutes and ConfigMaps that the routers of services name."""
    for router in (mapping(one["spec"].get("router")) for one in objects):
        for ref in listed(mapping(router.get("gateway")).get("refs")):
            where = text(ref.get("namespace")) or namespace
            _ensured(cluster, path("namespaces"), {"metadata": {"name": where}})
            _add_gateway(cluster, where, text(ref.get("name")))
        for ref in listed(mapping(mapping(router.get("route")).get("http")).get("refs")):
            body = {"metadata": {"name": ref["name"]}, "spec": {"rules": [{}]}}
            version = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute"}
            _ensured(cluster, path("httproutes", namespace), {**version, **body})
    for one in config_maps(namespace, objects):
        _ensured(cluster, path("configmaps", namespace), one)


def config_maps(namespace: str, objects: Sequence[Object]) -> Iterator[Object]:
    """Yield the ConfigMaps that routers name: each with a configuration of the endpoint picker."""
    for one in objects:
        scheduler = mapping(mapping(one["spec"].get("router")).get("scheduler"))
        if ref := mapping(mapping(scheduler.get("config")).get("ref")):
            yield {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": ref["name"], "namespace": namespace},
                "data": {text(ref.get("key")) or "epp": json.dumps(PICKER)},
            }


def _ensured(cluster: Cluster, where: str, body: Object) -> None:
    """Create an object that may be there already."""
    until(partial(_is_there, cluster, where, body), f"{body['metadata']['name']} is created", every=0.5)


def _is_there(cluster: Cluster, where: str, body: Object) -> bool:
    """Create an object; return False if the API server had no time for it."""
    try:
        call(cluster.api, "POST", where, body)
    except ApiError as error:
        if error.status not in {http.client.CONFLICT, http.client.GATEWAY_TIMEOUT}:
            raise
        return error.status == http.client.CONFLICT
    return True
