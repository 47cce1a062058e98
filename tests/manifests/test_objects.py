"""The manifests: the command accepts their arguments, pods are restricted, draining fits the grace period."""

import re
from typing import Any, Final

import pytest
import yaml

from catalog.release import VERSION
from fusioninfer.cli.program import load
from fusioninfer.settings import SettingsFile, read
from hack.manifests.objects import MANIFESTS, container, find, objects, parsed
from intent import Object
from intent.annotations import EXPANSION, INJECT, SERVICE
from server.controller import LEASE
from sync.lease import Timing
from webhook.server.listen import Limits

DEPLOYMENTS: Final = ("fusioninfer-webhook", "fusioninfer-sync")
SETTINGS: Final = MANIFESTS / "base" / "settings.yaml"
MARGIN: Final = 5
"""Minimum seconds between the end of a graceful shutdown and SIGKILL."""


def pod_spec(deployment: str) -> Object:
    spec: Object = find("Deployment", deployment)["spec"]["template"]["spec"]
    return spec


@pytest.fixture
def webhook() -> dict[str, Any]:
    return parsed(container("fusioninfer-webhook")["args"])


@pytest.fixture
def sync() -> dict[str, Any]:
    return parsed(container("fusioninfer-sync")["args"])


# --- labels -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["base", "cert-manager", "self-signed", "templates", "monitoring"])
def test_every_object_names_its_component(folder: str) -> None:
    labels = [each["metadata"]["labels"] for each in objects(folder)]

    assert {each["app.kubernetes.io/name"] for each in labels} == {"fusioninfer"}
    assert all(each["app.kubernetes.io/component"] for each in labels)


def test_the_labels_name_this_release() -> None:
    ((transformer,),) = (each["labels"] for each in [kustomization("labels")])

    assert transformer["pairs"]["app.kubernetes.io/version"] == VERSION
    assert "includeSelectors" not in transformer


def kustomization(folder: str) -> Object:
    found: Object = yaml.safe_load((MANIFESTS / folder / "kustomization.yaml").read_text())
    return found


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_selectors_stay_as_they_were_in_the_first_release(deployment: str) -> None:
    """They cannot be changed: an upgrade would be refused."""
    selector = find("Deployment", deployment)["spec"]["selector"]

    component = deployment.removeprefix("fusioninfer-")
    assert selector == {
        "matchLabels": {"app.kubernetes.io/name": "fusioninfer", "app.kubernetes.io/component": component}
    }


# --- arguments --------------------------------------------------------------------------------------


def test_the_webhook_listens_on_its_container_ports(webhook: dict[str, Any]) -> None:
    ports = {port["name"]: port["containerPort"] for port in container("fusioninfer-webhook")["ports"]}

    assert ports == {"https": webhook["port"], "metrics": webhook["metrics_port"]}


def test_the_controller_listens_on_its_container_ports(sync: dict[str, Any]) -> None:
    ports = {port["name"]: port["containerPort"] for port in container("fusioninfer-sync")["ports"]}

    assert ports == {"metrics": sync["metrics_port"], "https-metrics": sync["secure_metrics_port"]}


def test_the_webhook_reads_its_certificate_where_the_secret_is_mounted(webhook: dict[str, Any]) -> None:
    mounts = {mount["name"]: mount["mountPath"] for mount in container("fusioninfer-webhook")["volumeMounts"]}

    assert str(webhook["cert_dir"]) == mounts["tls"]


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_settings_are_read_where_they_are_mounted(deployment: str) -> None:
    mounts = {mount["name"]: mount["mountPath"] for mount in container(deployment)["volumeMounts"]}

    config = parsed(container(deployment)["args"])["config"]
    assert str(config) == f"{mounts['settings']}/{SETTINGS.name}"


@pytest.mark.parametrize("flag", ["workers", "log_level"])
def test_the_shipped_flags_are_the_defaults(sync: dict[str, Any], flag: str) -> None:
    default = next(each.default for each in load("sync").params if each.name == flag)

    assert sync[flag] == default


def test_the_lease_is_in_the_namespace_of_the_pod() -> None:
    sync = container("fusioninfer-sync")
    (variable,) = sync["env"]

    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace"
    assert f"--system-namespace=$({variable['name']})" in sync["args"]


def test_the_role_of_the_lease_is_in_the_namespace_of_the_pod() -> None:
    role = find("Role", "fusioninfer-sync")

    assert role["metadata"]["namespace"] == find("Deployment", "fusioninfer-sync")["metadata"]["namespace"]
    assert LEASE == "fusioninfer-sync"


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_the_image_is_of_this_release(deployment: str) -> None:
    assert container(deployment)["image"] == f"fusioninfer:{VERSION}"


def test_the_shipped_settings_are_the_defaults() -> None:
    assert read(SETTINGS) == read(None)


def test_the_shipped_settings_list_every_field_with_its_default() -> None:
    lines = SETTINGS.read_text().splitlines()[1:]

    named = yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines))
    assert named == SettingsFile.model_validate({}).model_dump(mode="json", by_alias=True)


# --- pods -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_containers_are_read_only_and_not_root(deployment: str) -> None:
    context = container(deployment)["securityContext"]

    assert context == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod_spec(deployment)["securityContext"]["runAsNonRoot"] is True


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_the_uid_is_the_images_or_that_of_the_platform(deployment: str) -> None:
    """A platform that assigns uids refuses others (OpenShift's `restricted-v2`); any may read the files."""
    volumes = [volume.get("secret", {}) for volume in pod_spec(deployment)["volumes"]]

    assert pod_spec(deployment)["securityContext"].keys() == {"runAsNonRoot", "seccompProfile"}
    assert {one["defaultMode"] for one in volumes if one} <= {0o444}


def test_the_webhook_mounts_no_token_by_default() -> None:
    assert pod_spec("fusioninfer-webhook")["automountServiceAccountToken"] is False


def test_a_drain_ends_before_the_pod_is_killed() -> None:
    limits = Limits()

    grace = pod_spec("fusioninfer-webhook")["terminationGracePeriodSeconds"]
    assert grace >= limits.drain_seconds + limits.finish_seconds + MARGIN


def test_the_memory_limit_fits_the_bodies_that_may_arrive_at_once() -> None:
    limits = Limits()
    memory = container("fusioninfer-webhook")["resources"]["limits"]["memory"]

    of_its_own = 128 * 2**20
    assert int(memory.removesuffix("Mi")) * 2**20 >= limits.reviews * limits.body_bytes + of_its_own


def test_the_lease_is_released_before_the_pod_is_killed() -> None:
    grace = pod_spec("fusioninfer-sync").get("terminationGracePeriodSeconds", 30)

    assert grace >= Timing().renew_deadline + MARGIN


def test_one_webhook_replica_is_always_available() -> None:
    spec = find("Deployment", "fusioninfer-webhook")["spec"]

    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_probes_use_the_metrics_port(deployment: str) -> None:
    probes = [value for key, value in container(deployment).items() if key.endswith("Probe")]

    assert {probe["httpGet"]["port"] for probe in probes} == {"metrics"}
    assert len(probes) == 3


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("PodDisruptionBudget", ("selector", "matchLabels")),
        ("NetworkPolicy", ("podSelector", "matchLabels")),
        ("Service", ("selector",)),
        ("Deployment", ("selector", "matchLabels")),
    ],
)
@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_selectors_are_the_labels_of_the_pods(kind: str, field: tuple[str, ...], deployment: str) -> None:
    selector = find(kind, deployment)["spec"]
    for step in field:
        selector = selector[step]

    template = find("Deployment", deployment)["spec"]["template"]
    assert selector == template["metadata"]["labels"]


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_named_ports_exist_in_the_container(deployment: str) -> None:
    names = {port["name"] for port in container(deployment)["ports"]}

    asked = {port["targetPort"] for port in find("Service", deployment)["spec"]["ports"]}
    allowed = {
        port["port"]
        for rule in find("NetworkPolicy", deployment)["spec"]["ingress"]
        for port in rule["ports"]
    }
    assert asked == allowed == names


# --- admission --------------------------------------------------------------------------------------


def webhooks() -> list[Object]:
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    return [one for each in objects("base") if each["kind"] in kinds for one in each["webhooks"]]


def test_webhooks_and_policy_exclude_system_namespaces() -> None:
    policy = find("ValidatingAdmissionPolicy", "backstop.fusioninfer.io")["spec"]["matchConstraints"]

    of_templates = [one for one in webhooks() if one["name"].startswith("inferencetemplates.")]
    selectors = [one["namespaceSelector"] for one in (*webhooks(), policy) if one not in of_templates]
    excluded = [only["values"] for one in selectors for only in one["matchExpressions"]]
    assert excluded == [["kube-system", "fusioninfer-system"]] * len(selectors)


def test_templates_are_checked_in_the_namespace_of_the_operator_too() -> None:
    """Services of all namespaces may name those; no object there that runs depends on the webhook."""
    (found,) = (one for one in webhooks() if one["name"].startswith("inferencetemplates."))

    assert found["rules"][0]["resources"] == ["inferencetemplates"]
    assert [only["values"] for only in found["namespaceSelector"]["matchExpressions"]] == [["kube-system"]]


def test_the_fallback_policy_uses_existing_annotations() -> None:
    spec = find("ValidatingAdmissionPolicy", "backstop.fusioninfer.io")["spec"]

    text = " ".join(one["expression"] for one in (*spec["matchConditions"], *spec["validations"]))
    assert set(re.findall(r"'(fusioninfer\.io/[^']*)'", text)) == {SERVICE, INJECT, EXPANSION}


def test_the_certificate_is_for_the_name_that_the_api_server_calls() -> None:
    called = {one["clientConfig"]["service"]["name"] for one in webhooks()}
    certificate = find("Certificate", "fusioninfer-webhook", "cert-manager")["spec"]

    assert certificate["dnsNames"][0] == f"{called.pop()}.fusioninfer-system.svc"
    assert not called


def test_the_certificate_is_the_secret_that_the_webhook_mounts() -> None:
    mounted = {volume["name"]: volume for volume in pod_spec("fusioninfer-webhook")["volumes"]}
    certificate = find("Certificate", "fusioninfer-webhook", "cert-manager")["spec"]

    assert mounted["tls"]["secret"]["secretName"] == certificate["secretName"]


def test_every_object_is_in_our_namespace_or_in_none() -> None:
    placed = {each["metadata"].get("namespace") for each in objects("base", "cert-manager", "monitoring")}

    assert placed == {None, "fusioninfer-system"}
