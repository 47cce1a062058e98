"""What the checks read of a cluster in which everything is well."""

import copy
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from catalog.pickers.generations import OBJECTIVES_API
from certs.issue import Pair, issue_ca, issue_serving
from fusioninfer.cluster.answers import Answer
from fusioninfer.cluster.check.components import SERVED
from fusioninfer.cluster.check.controller import controller_rights, user_rights
from fusioninfer.cluster.check.facts import DryRun, Facts
from intent import Object

NOW: Final = datetime(2026, 6, 1, tzinfo=UTC)
BASE: Final = Path(__file__).parents[3] / "manifests" / "base"
SPACE: Final = "fusioninfer-system"
HOST: Final = f"fusioninfer-webhook.{SPACE}.svc"
LWS_CONFIG: Final = "apiVersion: config.lws.x-k8s.io/v1alpha1\nkind: Configuration\n"


@cache
def authority(days: int = 3650) -> Pair:
    """Issue a CA that has so many days left."""
    return issue_ca("test", NOW - timedelta(days=1), NOW + timedelta(days=days))


@cache
def serving(days: float = 90, host: str = HOST) -> Pair:
    """Issue a serving certificate that has so many days left."""
    return issue_serving(authority(), [host], NOW - timedelta(days=100), NOW + timedelta(days=days))


def encoded(certificate: bytes) -> str:
    """Encode a certificate as `caBundle` and Secrets have it."""
    return b64encode(certificate).decode()


def secret(pair: Pair) -> Object:
    """Return the Secret of a serving certificate."""
    return {"metadata": {"name": "fusioninfer-webhook-tls"}, "data": {"tls.crt": encoded(pair.certificate)}}


@cache
def manifests() -> list[Any]:
    """Return the manifest of our webhook configurations."""
    return list(yaml.safe_load_all((BASE / "webhooks.yaml").read_text()))


def configurations(kind: str) -> list[Object]:
    """Return our webhook configurations of a kind, with the CA."""
    found = [copy.deepcopy(one) for one in manifests() if one["kind"] == kind]
    for one in found:
        for webhook in one["webhooks"]:
            webhook["clientConfig"]["caBundle"] = encoded(authority().certificate)
    return found


def foreign(configuration: str, *names: str, resource: str, group: str = "") -> Object:
    """Return a webhook configuration of another product."""
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]}
    service = {"namespace": "lws-system", "name": "lws-webhook-service"}
    webhooks = [{"name": name, "clientConfig": {"service": service}, "rules": [rule]} for name in names]
    return {"metadata": {"name": configuration}, "webhooks": webhooks}


def lws_configuration() -> Object:
    """Return the mutating webhooks of LeaderWorkerSet."""
    name = "lws-mutating-webhook-configuration"
    sets = foreign(
        name, "mleaderworkerset.kb.io", resource="leaderworkersets", group="leaderworkerset.x-k8s.io"
    )
    pods = foreign(name, "mpod.kb.io", resource="pods")
    return sets | {"webhooks": [*sets["webhooks"], *pods["webhooks"]]}


def deployment(name: str, container: str, image: str, pods: int = 2, flags: Sequence[str] = ()) -> Object:
    """Return a Deployment with available pods."""
    template = {"spec": {"containers": [{"name": container, "image": image, "args": [*flags]}]}}
    return {"metadata": {"name": name}, "spec": {"template": template}, "status": {"availableReplicas": pods}}


def pod_group_definition(*fields: str) -> Object:
    """Return the definition of PodGroup with these fields of the spec."""
    spec: Object = {"properties": {field: {} for field in fields}}
    schema = {"openAPIV3Schema": {"properties": {"spec": spec}}}
    return {"spec": {"versions": [{"name": "v1beta1", "schema": schema}]}}


def definition(version: str, name: str = "", fields: Object | None = None) -> Object:
    """Return a definition of a version, with the release of its project and the fields of the spec."""
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": fields or {}}}}}
    metadata = {"annotations": {f"{name}/bundle-version": version}} if name else {}
    return {"metadata": metadata, "spec": {"versions": [{"name": "v1", "schema": schema}]}}


def lease(age: float = 3, holder: str = "pod-1") -> Object:
    """Return the Lease of the controller, renewed so many seconds ago."""
    renewed = (NOW - timedelta(seconds=age)).isoformat().replace("+00:00", "Z")
    return {"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}}


def one(obj: Object) -> Answer:
    """Return the answer to a reading of one object."""
    return Answer((obj,))


def facts() -> Facts:
    """Return what is read of a cluster in which everything is well."""
    served = {
        f"resources/{name}": one({"resources": [{"name": plural}]}) for name, (_, plural) in SERVED.items()
    }
    slices = [{"endpoints": [{"conditions": {"ready": True}}, {"conditions": {"ready": True}}]}]
    answers = {
        **served,
        "version": one({"gitVersion": "v1.35.4"}),
        "podgroup-definition": one(pod_group_definition("minMember", "subGroupPolicy")),
        "lws-definition": one(definition("", fields={"replicas": {}})),
        "set-definition": one(definition("", fields={"roles": {}})),
        "route-definition": one(definition("v1.4.1", "gateway.networking.k8s.io")),
        "pool-definition": one(definition("v1.5.0", "inference.networking.k8s.io")),
        f"resources/{OBJECTIVES_API}": one({"resources": [{"name": "inferenceobjectives"}]}),
        "scheduler": one(deployment("volcano-scheduler", "v", "volcanosh/vc-scheduler:v1.14.1")),
        "queue": one({"status": {"state": "Open"}}),
        "mutating": Answer((*configurations("MutatingWebhookConfiguration"), lws_configuration())),
        "validating": Answer(
            (
                *configurations("ValidatingWebhookConfiguration"),
                foreign("volcano-admission", "validatepodgroup.volcano.sh", resource="podgroups"),
            )
        ),
        "lws-deployments": one(
            deployment("lws-controller-manager", "manager", "registry.k8s.io/lws/lws:v0.9.0")
        ),
        "lws-config": one({"data": {"controller_manager_config.yaml": LWS_CONFIG}}),
        "deployments": Answer(
            (
                deployment("fusioninfer-webhook", "webhook", "fusioninfer:0.1.0", flags=("--client-ca=ca",)),
                deployment("fusioninfer-sync", "sync", "fusioninfer:0.1.0"),
            )
        ),
        "lease": one(lease()),
        "services": Answer(()),
        "sets": Answer(()),
        "pickers": Answer(()),
        "secret": one(secret(serving())),
        "settings": one({"data": {"settings.yaml": "# launcher: auto\n"}}),
        "policy": one({"spec": {}}),
        "policy-binding": one({"spec": {"validationActions": ["Warn", "Audit"]}}),
        "slices": Answer(tuple(slices)),
    }
    stored = {"metadata": {"annotations": {"fusioninfer.io/expansion": "{}"}}}
    return Facts(
        answers,
        release="0.1.0",
        now=NOW,
        rights=dict.fromkeys(user_rights("llm"), True),
        controller_rights=dict.fromkeys(controller_rights(SPACE), True),
        trial=DryRun(stored),
    )
