"""What the checks read of a cluster in which everything is well."""

import copy
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from catalog.release import VERSION
from certs.issue import Pair, issue_ca, issue_serving
from fusioninfer.cluster.check.components import DEFINITIONS
from fusioninfer.cluster.check.facts import Facts
from fusioninfer.cluster.reader import Answer
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
def serving(days: float = 90) -> Pair:
    """Issue a serving certificate that has so many days left."""
    return issue_serving(authority(), [HOST], NOW - timedelta(days=100), NOW + timedelta(days=days))


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


def configurations(kind: str) -> tuple[Object, ...]:
    """Return our webhook configurations of a kind, with the CA."""
    found = [copy.deepcopy(one) for one in manifests() if one["kind"] == kind]
    for one in found:
        for webhook in one["webhooks"]:
            webhook["clientConfig"]["caBundle"] = encoded(authority().certificate)
    return tuple(found)


def deployment(name: str, image: str, pods: int = 2, flags: Sequence[str] = ()) -> Object:
    """Return a Deployment with available pods."""
    template = {"spec": {"containers": [{"name": "a", "image": image, "args": [*flags]}]}}
    return {"metadata": {"name": name}, "spec": {"template": template}, "status": {"availableReplicas": pods}}


def definition(reading: str, *fields: str, release: str = "") -> Object:
    """Return a definition with these fields of the spec, and the release of its project."""
    name, version = DEFINITIONS[reading]
    spec: Object = {"properties": {field: {} for field in fields}}
    schema = {"openAPIV3Schema": {"properties": {"spec": spec}}}
    annotations = {f"{name.partition('.')[2]}/bundle-version": release}
    versions = [{"name": version, "served": True, "schema": schema}]
    return {"metadata": {"annotations": annotations}, "spec": {"versions": versions}}


def lease(age: float = 3, holder: str = "pod-1") -> Object:
    """Return the Lease of the controller, renewed so many seconds ago."""
    renewed = (NOW - timedelta(seconds=age)).isoformat().replace("+00:00", "Z")
    return {"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}}


def one(obj: Object) -> Answer:
    """Return the answer to a reading of one object."""
    return Answer((obj,))


def facts() -> Facts:
    """Return what is read of a cluster in which everything is well."""
    answers = {
        "version": one({"gitVersion": "v1.35.4"}),
        "lws": one(definition("lws")),
        "podgroups": one(definition("podgroups", "minMember", "subGroupPolicy")),
        "inferenceservices": one(definition("inferenceservices")),
        "httproutes": one(definition("httproutes", release="v1.4.1")),
        "inferencepools": one(definition("inferencepools", release="v1.5.0")),
        "scheduler": one(deployment("volcano-scheduler", "volcanosh/vc-scheduler:v1.14.1")),
        "mutating": Answer(configurations("MutatingWebhookConfiguration")),
        "validating": Answer(configurations("ValidatingWebhookConfiguration")),
        "lws-deployments": one(deployment("lws-controller-manager", "registry.k8s.io/lws/lws:v0.9.0")),
        "lws-config": one({"data": {"controller_manager_config.yaml": LWS_CONFIG}}),
        "deployments": Answer(
            (
                deployment("fusioninfer-webhook", f"fusioninfer:{VERSION}", flags=("--client-ca=ca",)),
                deployment("fusioninfer-sync", "fusioninfer:0.1.0"),
            )
        ),
        "lease": one(lease()),
        "secret": one(secret(serving())),
        "trial": one({"metadata": {"annotations": {"fusioninfer.io/expansion": "{}"}}}),
    }
    return Facts(answers, NOW)
