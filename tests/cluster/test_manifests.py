"""The manifests on the real tools: kustomize and Helm make the same of them, and the API server takes it."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack.manifests.objects import MANIFESTS
from intent import Object
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.chart import NAMESPACE, Values, rendered, rendering
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl

_TEMPLATES: Final = {"templates.enabled": True, "templates.anyCaller": True}
CHARTS: Final[tuple[tuple[str, Values], ...]] = (
    ("base", {"certificates.mode": "provided"}),
    ("self-signed", {}),
    ("cert-manager", {"certificates.mode": "cert-manager"}),
    ("self-signed strict", {"backstop.actions": ["Deny", "Audit"]}),
    ("self-signed ownership labels", {"policies.ownership": True}),
    ("self-signed templates templates-any-caller labels", _TEMPLATES),
)
"""An overlay with components, and the values that are the same."""
OVERLAYS: Final = ("base", "cert-manager", "self-signed", "development", "monitoring")
KUBERNETES: Final = "1.35.0"
"""For which the chart is rendered: Helm 3 takes v1.20 for granted unless its release says otherwise."""
UNKNOWN: Final = frozenset({"Certificate", "Issuer", "ServiceMonitor", "PrometheusRule"})
"""Kinds of cert-manager and of the Prometheus operator: the testbed has neither."""
KEPT: Final = "helm.sh/resource-policy"
CHECKSUM: Final = "checksum/settings"
MANAGER: Final = "app.kubernetes.io/managed-by"
CHART: Final = "helm.sh/chart"
HOOK: Final = "helm.sh/hook"
DIGEST: Final = re.compile(r"(?<=fusioninfer-settings)-[a-z0-9]{10}$")

Name = tuple[str, str]


def kustomized(cluster: Cluster, folder: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(kubectl(cluster, "kustomize", str(folder))) if each]


def as_installed(helm: Path, values: Values) -> list[Object]:
    """Render the chart as it would be installed by the name and in the namespace of the manifests."""
    return rendered(helm, values, f"--kube-version={KUBERNETES}", release="fusioninfer")


def by_name(objects: list[Object]) -> dict[Name, Object]:
    return {(each["kind"], each["metadata"]["name"]): each for each in map(comparable, objects)}


def comparable(found: Object) -> Object:
    """Remove the intended differences of the two.

    A change of settings starts pods anew: by the ConfigMap's name in kustomize, by a checksum in Helm. The
    default settings are comments in one, and nothing in the other. Helm keeps the definition on uninstall,
    and names itself and the chart in labels. Flags and volumes have another order where templates are read.
    """
    plain: Object = json.loads(json.dumps(found), object_hook=_without_marks)
    if plain["kind"] == "ConfigMap" and "settings.yaml" in plain["data"]:
        plain["data"] = {name: yaml.safe_load(text) or {} for name, text in plain["data"].items()}
    return plain


def _without_marks(value: dict[str, Any]) -> dict[str, Any]:
    plain = {key: DIGEST.sub("", one) if isinstance(one, str) else one for key, one in value.items()}
    for mark in (KEPT, CHECKSUM, MANAGER, CHART):
        plain.pop(mark, None)
    for name in ("args", "volumes", "volumeMounts"):
        if isinstance(found := plain.get(name), list):
            plain[name] = sorted(found, key=lambda each: json.dumps(each, sort_keys=True))
    if plain.get("annotations") == {}:
        del plain["annotations"]
    return plain


def without_namespace(objects: Mapping[Name, Object]) -> dict[Name, Object]:
    """Leave out the namespace, which Helm makes with `--create-namespace`."""
    return {name: each for name, each in objects.items() if name[0] != "Namespace"}


def installed(objects: list[Object]) -> dict[Name, Object]:
    """Leave out hooks: what Helm creates only for `helm test`."""
    return by_name([each for each in objects if HOOK not in each["metadata"].get("annotations", {})])


# --- kustomize and Helm -----------------------------------------------------------------------------


@pytest.mark.parametrize(("folder", "values"), CHARTS)
def test_the_chart_is_what_kustomize_makes(
    cluster: Cluster, helm: Path, folder: str, values: Values, tmp_path: Path
) -> None:
    overlay, *components = folder.split()
    file = {"resources": [f"manifests/{overlay}"], "components": [f"manifests/{each}" for each in components]}
    (tmp_path / "manifests").symlink_to(MANIFESTS)
    (tmp_path / "kustomization.yaml").write_text(json.dumps(file))

    chart = installed(as_installed(helm, values))
    assert chart == without_namespace(by_name(kustomized(cluster, tmp_path)))


def test_the_chart_with_monitoring_has_what_its_folder_has(cluster: Cluster, helm: Path) -> None:
    folder = by_name(kustomized(cluster, MANIFESTS / "monitoring"))
    board = folder.pop(next(name for name in folder if name[0] == "ConfigMap"))

    chart = by_name(as_installed(helm, {"monitoring.enabled": True}))
    assert {name: chart[name] for name in folder} == folder
    assert board["data"] == {"fusioninfer.json": (MANIFESTS / "monitoring" / "dashboard.json").read_text()}


def test_the_chart_in_another_namespace_names_ours_nowhere(helm: Path) -> None:
    assert NAMESPACE not in rendering(helm, {}, "template", "--namespace=elsewhere").stdout


@pytest.mark.parametrize(
    "values", [{}, {"certificates.mode": "cert-manager"}, {"monitoring.enabled": True}], ids=str
)
def test_helm_3_makes_the_same_objects(helm: Path, helm_3: Path, values: Values) -> None:
    first, second = (by_name(as_installed(one, values)) for one in (helm, helm_3))

    assert first == second  # their order of webhook configurations differs


def test_helm_3_refuses_a_value_that_cannot_be(helm_3: Path) -> None:
    refused = rendering(helm_3, {"replica": 3})

    assert refused.returncode
    assert "values don't meet the specifications of the schema" in refused.stderr


# --- the API server ---------------------------------------------------------------------------------


def known(objects: list[Object]) -> Iterator[Object]:
    return (each for each in objects if each["kind"] not in UNKNOWN)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_api_server_takes_every_object_strictly(admission: Cluster, overlay: str) -> None:
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": list(known(kustomized(admission, MANIFESTS / overlay))),
    }
    words = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "--filename=-")

    said = run_kubectl(admission, "apply", *words, stdin=json.dumps(listed))
    assert said.stderr == ""
    assert len(said.stdout.splitlines()) == len(listed["items"])


ASSIGNED: Final = {"runAsUser": 1_000_680_000, "runAsGroup": 1_000_680_000, "fsGroup": 1_000_680_000}
"""What a platform gives each pod of a namespace, and refuses to pods that name others (`restricted-v2`)."""
PICKERS: Final = Path(__file__).parents[1] / "golden" / "routes-picker" / "expected.yaml"


@pytest.fixture(scope="module")
def enforced(admission: Cluster) -> str:
    """Return a namespace in which Pod Security `restricted` is enforced, as it is in ours."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    create(admission.api, path("namespaces"), {"metadata": {"name": "enforced", "labels": labels}})
    return "enforced"


@pytest.fixture(scope="module")
def pods(admission: Cluster, helm: Path) -> dict[str, Object]:
    """Return the specs of all pods that we make, by name."""
    made = [*kustomized(admission, MANIFESTS / "cert-manager"), *yaml.safe_load_all(PICKERS.read_text())]
    of_deployments = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in made
        if each["kind"] == "Deployment"
    }
    tests = (each for each in as_installed(helm, {}) if each["kind"] == "Pod")
    return of_deployments | {each["metadata"]["name"]: each["spec"] for each in tests}


@pytest.mark.parametrize("assigned", [{}, ASSIGNED], ids=["image", "platform"])
@pytest.mark.parametrize("name", ["fusioninfer-webhook", "fusioninfer-sync", "fusioninfer-test", "qwen-epp"])
def test_pods_are_accepted_under_restricted_pod_security(
    admission: Cluster, enforced: str, pods: dict[str, Object], name: str, assigned: dict[str, int]
) -> None:
    """With the user of the image, or one that the platform assigns."""
    spec = pods[name]
    contexts = [spec["securityContext"], *(one["securityContext"] for one in spec["containers"])]
    assert not {field for one in contexts for field in one} & ASSIGNED.keys()

    whole = {**spec, "serviceAccountName": "default", "securityContext": contexts[0] | assigned}
    pod = {"metadata": {"generateName": "trial-"}, "spec": whole}
    created = create(admission.api, path("pods", enforced), pod, dryRun="All")

    assert created["spec"]["securityContext"]["runAsNonRoot"] is True


def test_a_picker_as_root_is_refused_there(
    admission: Cluster, enforced: str, pods: dict[str, Object]
) -> None:
    pod = {
        "metadata": {"generateName": "trial-"},
        "spec": {**pods["qwen-epp"], "serviceAccountName": "default", "securityContext": {"runAsUser": 0}},
    }

    with pytest.raises(ApiError, match="violates PodSecurity"):
        create(admission.api, path("pods", enforced), pod, dryRun="All")
