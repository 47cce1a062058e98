"""Templates are off by default; the component and the chart give the webhook one right on one kind."""

import re
from typing import Any, Final

import yaml

from intent import Object
from tests.manifests.chart import files
from tests.manifests.objects import MANIFESTS, container, find, objects, parsed
from tests.manifests.values import VALUES

ROLE: Final = "fusioninfer-webhook-templates"


def patches() -> dict[str, list[Object]]:
    """Return the operations of the component, by the kind that they change."""
    whole = yaml.safe_load((MANIFESTS / "templates" / "kustomization.yaml").read_text())
    return {one["target"]["kind"]: yaml.safe_load(one["patch"]) for one in whole["patches"]}


def added(kind: str, path: str) -> Any:
    (found,) = (one["value"] for one in patches()[kind] if one["path"].startswith(path))
    return found


def test_nothing_is_read_by_default() -> None:
    (value,) = (one for one in VALUES if one.path == "templates.enabled")

    assert value.default is False
    assert not parsed(container("fusioninfer-webhook")["args"])["templates_namespace"]
    assert "egress" not in find("NetworkPolicy", "fusioninfer-webhook")["spec"]


def test_the_webhook_may_get_templates_and_nothing_else() -> None:
    binding = find("ClusterRoleBinding", ROLE, "templates")
    bound = [
        one
        for folder in ("base", "self-signed", "templates")
        for one in objects(folder)
        for subject in one.get("subjects", ())
        if subject["name"] == "fusioninfer-webhook"
    ]

    assert find("ClusterRole", ROLE, "templates")["rules"] == [
        {"apiGroups": ["fusioninfer.io"], "resources": ["inferencetemplates"], "verbs": ["get"]}
    ]
    assert binding["roleRef"]["name"] == ROLE
    assert bound == [binding]


def test_requests_for_templates_have_queues_by_namespace() -> None:
    spec = find("FlowSchema", ROLE, "templates")["spec"]
    (rule,) = spec["rules"]

    assert spec["distinguisherMethod"] == {"type": "ByNamespace"}
    assert rule["subjects"][0]["serviceAccount"]["name"] == "fusioninfer-webhook"
    assert {key: rule["resourceRules"][0][key] for key in ("apiGroups", "resources", "verbs")} == find(
        "ClusterRole", ROLE, "templates"
    )["rules"][0]


def test_the_component_passes_the_flag_and_mounts_the_token_where_clients_look_for_it() -> None:
    arguments = [
        *container("fusioninfer-webhook")["args"],
        added("Deployment", "/spec/template/spec/containers/0/args"),
    ]
    mount = added("Deployment", "/spec/template/spec/containers/0/volumeMounts")
    volume = added("Deployment", "/spec/template/spec/volumes")

    assert parsed(arguments)["templates_namespace"] == "fusioninfer-system"
    assert mount["name"] == volume["name"]
    assert mount["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    assert added("NetworkPolicy", "/spec/egress")


def test_the_chart_has_the_token_of_the_component() -> None:
    text = files()["templates/webhook-deployment.yaml"]
    parts = re.findall(
        r"\{\{- if \(?\$\.Values\.templates\)?\.enabled \}\}\n(.*?)\{\{- end \}\}", text, re.DOTALL
    )
    found = {
        key: one
        for part in map(yaml.safe_load, parts)
        if isinstance(part[0], dict)
        for key, one in part[0].items()
    }

    wanted = added("Deployment", "/spec/template/spec/volumes")
    assert len(parts) == 3
    assert {key: found[key] for key in wanted} == wanted
    assert added("Deployment", "/spec/template/spec/containers/0/volumeMounts").items() <= found.items()
