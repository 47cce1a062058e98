"""What is installed before the controllers start: custom resources, LWS's webhook configurations."""

import base64
import re
from collections.abc import Sequence
from typing import Final

import jsonpatch
import yaml

from intent import Object
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import create, items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.modules import CRDS
from tests.cluster.testbed.wait import until

NAMESPACES: Final = ("volcano-system", "lws-system")
LWS_PATCHES: Final = {
    "MutatingWebhookConfiguration": "config/webhook/mutating-patch.yaml",
    "ValidatingWebhookConfiguration": "config/webhook/validating-patch.yaml",
}
"""LWS's own kustomize patches: its Pod webhooks see only pods of LeaderWorkerSets."""

TEMPLATED: Final = re.compile(r"^ +\S+: '\{\{.*\n", re.MULTILINE)
"""Labels that Helm would fill in, in cert-manager's files."""
UNUSED: Final = re.compile(r"^  name: (?!destinationrules\.)\S+\.istio\.io$", re.MULTILINE)
"""The custom resources of Istio but the one that is made; all stand in one file."""


def install_definitions(cluster: Cluster, definitions: Sequence[tuple[str, str]] = CRDS) -> None:
    """Install custom resources, by module and folder; wait until they are served."""
    folders = [cluster.built.source(module, folder) for module, folder in definitions]
    files = [file for folder in folders for file in sorted(folder.glob("*.yaml"))]
    text = "\n---\n".join(TEMPLATED.sub("", file.read_text()) for file in files)
    wanted = [each for each in text.split("\n---\n") if not UNUSED.search(each)]
    kubectl(cluster, "create", "--validate=false", "--filename=-", stdin="\n---\n".join(wanted))
    until(lambda: all_established(cluster), "the custom resources are served", seconds=2 * PATIENCE)


def add_namespaces(cluster: Cluster) -> None:
    """Add the namespaces of LWS and Volcano."""
    for name in NAMESPACES:
        create(cluster.api, path("namespaces"), {"metadata": {"name": name}})


def install_lws_webhooks(cluster: Cluster) -> None:
    """Install LWS's webhook configurations, pointed at its process on loopback."""
    manifests = cluster.built.source("lws", "config/webhook/manifests.yaml").read_text()
    for configuration in yaml.safe_load_all(manifests):
        rules = cluster.built.source("lws", LWS_PATCHES[configuration["kind"]]).read_text()
        patched = jsonpatch.apply_patch(configuration, yaml.safe_load(rules))
        patched["metadata"]["name"] = "lws-" + patched["metadata"]["name"]
        resource = patched["kind"].lower() + "s"
        create(
            cluster.api,
            path(resource),
            on_loopback(patched, cluster.ports["lws-webhook"], cluster.authority_pem),
        )


def on_loopback(configuration: Object, port: int, authority: bytes) -> Object:
    """Return a webhook configuration whose services are ports on loopback, checked against an authority."""
    bundle = base64.b64encode(authority).decode()
    webhooks = [
        {**webhook, "clientConfig": {"url": _url(webhook["clientConfig"], port), "caBundle": bundle}}
        for webhook in configuration["webhooks"]
    ]
    return {**configuration, "webhooks": webhooks}


def _url(client_config: Object, port: int) -> str:
    return f"https://127.0.0.1:{port}{client_config['service']['path']}"


def all_established(cluster: Cluster) -> bool:
    """Return whether the API server serves all custom resources."""
    definitions = items(cluster.api, path("customresourcedefinitions"))
    return all(_established(definition) for definition in definitions)


def _established(definition: Object) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []  # null at first
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
