"""Templates are off by default; the component and the chart give webhook and controller one kind to read."""

from typing import Any, Final

import yaml

from hack.manifests.objects import MANIFESTS, container, find, objects, parsed
from hack.manifests.values import VALUES
from intent import Object

ROLE: Final = "fusioninfer-webhook-templates"


def patches() -> dict[tuple[str, str], list[Object]]:
    """Return the operations of the component, by kind and name of what they change."""
    whole = yaml.safe_load((MANIFESTS / "templates" / "kustomization.yaml").read_text())
    targets = (one["target"] for one in whole["patches"])
    patches = (yaml.safe_load(one["patch"]) for one in whole["patches"])
    return {(one["kind"], one["name"]): patch for one, patch in zip(targets, patches, strict=True)}


def added(kind: str, path: str, name: str = "fusioninfer-webhook") -> Any:
    (found,) = (one["value"] for one in patches()[kind, name] if one["path"].startswith(path))
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


def test_the_controller_may_list_and_watch_templates_and_is_told_to() -> None:
    role = "fusioninfer-sync-templates"
    found = find("ClusterRoleBinding", role, "templates")
    arguments = [
        *container("fusioninfer-sync")["args"],
        added("Deployment", "/spec/template/spec/containers/0/args", "fusioninfer-sync"),
    ]

    assert find("ClusterRole", role, "templates")["rules"] == [
        {"apiGroups": ["fusioninfer.io"], "resources": ["inferencetemplates"], "verbs": ["list", "watch"]}
    ]
    assert (found["roleRef"]["name"], found["subjects"][0]["name"]) == (role, "fusioninfer-sync")
    assert parsed(arguments)["templates_namespace"] == "fusioninfer-system"
    assert not parsed(container("fusioninfer-sync")["args"])["templates_namespace"]


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
