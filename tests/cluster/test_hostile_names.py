"""A user names objects of other namespaces, and no webhook is asked: on the real API server, as that user."""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS
from intent import Object, yaml
from intent.inferenceservice.crd import crd
from sync.desired.strategies import preset
from tests.builders.isvc import isvc, router, worker
from tests.cluster.testbed import audit
from tests.cluster.testbed.api import apply, create, get, items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.wait import until

DEFINITION: Final = path("customresourcedefinitions", name="inferenceservices.fusioninfer.io")
DISABLED: Final = {"fusioninfer.io/inject": "disabled"}
OURS: Final = "x-epp-config"


@pytest.fixture
def tenants(fusioninfer: Cluster) -> Iterator[tuple[str, str]]:
    """Two namespaces: in the first jane may edit, the second has a ConfigMap of somebody else."""
    with new_namespace(fusioninfer) as a, new_namespace(fusioninfer) as b:
        kubectl(fusioninfer, "create", "rolebinding", "jane", "--clusterrole=edit", "--user=jane", "-n", a)
        until(
            lambda: jane(fusioninfer, a, "auth", "can-i", "create", "isvc").stdout.strip() == "yes",
            "jane may",
        )
        text = yaml.dump(preset(PICKERS["gie-1.5"], "queue-size")) + "# private\n"
        body = {"metadata": {"name": "theirs"}, "data": {"config.yaml": text}}
        create(fusioninfer.api, path("configmaps", b), body)
        yield a, b


def jane(cluster: Cluster, namespace: str, *words: str, stdin: str = "") -> Any:
    return run_kubectl(cluster, *words, "--as=jane", "-n", namespace, stdin=stdin)


def applied(cluster: Cluster, namespace: str, service: Object) -> str:
    """Apply a service as the user; return what kubectl says."""
    done = jane(cluster, namespace, "apply", "-f-", stdin=json.dumps(service))
    return str(done.stdout + done.stderr)


def naming(name: str, field: str = "configRef", service: str = "x") -> Object:
    """Return a service that names an object in one of its fields, and calls no webhook."""
    fields: dict[str, tuple[Object, Object]] = {
        "configRef": ({"configRef": {"name": name, "key": "config.yaml"}, "strategy": None}, {}),
        "pool": ({"pool": {"ref": {"name": name}}, "strategy": None}, {}),
        "baseRefs": ({}, {"baseRefs": [name]}),
    }
    of_router, spec = fields[field]
    return isvc(router(**of_router), worker(), name=service, annotations=DISABLED, **spec)


@contextmanager
def without_patterns(cluster: Cluster) -> Iterator[None]:
    """Serve the definition as an earlier release had it, applied as kubectl applies it."""
    earlier = copy.deepcopy(crd())
    (version,) = earlier["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    role = spec["roles"]["items"]["properties"]
    named = (role["configRef"]["properties"]["name"], role["pool"]["properties"]["ref"]["properties"]["name"])
    for one in (*named, spec["baseRefs"]["items"]):
        del one["pattern"]
    apply(cluster.api, DEFINITION, earlier, "kubectl", force=True)
    try:
        yield
    finally:
        apply(cluster.api, DEFINITION, crd(), "kubectl", force=True)


@pytest.mark.parametrize("field", ["configRef", "pool", "baseRefs"])
def test_the_definition_refuses_what_is_no_name(
    fusioninfer: Cluster, tenants: tuple[str, str], field: str
) -> None:
    a, b = tenants
    for name in (f"../../{b}/configmaps/theirs", "..", "%2e%2e/x", "a/b", "X", "x\n"):
        assert "should match" in applied(fusioninfer, a, naming(name, field))
    assert items(fusioninfer.api, path("inferenceservices", a)) == []


def test_a_user_reads_nothing_of_another_namespace(fusioninfer: Cluster, tenants: tuple[str, str]) -> None:
    a, b = tenants
    assert "created" in applied(fusioninfer, a, isvc(router(), worker(), name="x"))
    mine = path("configmaps", a, OURS)
    until(
        lambda: [
            one for one in items(fusioninfer.api, path("configmaps", a)) if one["metadata"]["name"] == OURS
        ],
        "routes",
    )
    before = get(fusioninfer.api, mine)["data"]
    names = [f"../../{b}/configmaps/theirs", f"%2e%2e/%2e%2e/{b}/configmaps/theirs", "..", "."]
    with without_patterns(fusioninfer):
        until(
            lambda: "configured" in applied(fusioninfer, a, naming(names[0])), "the definition is as it was"
        )
        for at, name in enumerate(names[1:]):
            for field in ("configRef", "pool", "baseRefs"):
                assert "created" in applied(fusioninfer, a, naming(name, field, f"{field.lower()}-{at}"))
        until(lambda: "FI734" in said(fusioninfer, a, "x"), "the reference is reported")
    until(
        lambda: "should match" in applied(fusioninfer, a, naming("../y", service="new")), "patterns are back"
    )

    # stored ones stay writable: other fields by their author, the status by the controller
    patch(fusioninfer.api, path("inferenceservices", a, "x"), {"metadata": {"annotations": {"note": "x"}}})
    generation = get(fusioninfer.api, path("inferenceservices", a, "x"))["metadata"]["generation"]
    changed = naming(names[0]) | {}
    changed["spec"]["roles"][1]["replicas"] = 2
    assert "configured" in applied(fusioninfer, a, changed)
    until(lambda: observed(fusioninfer, a, "x") > generation, "the status is written")
    audit.come_to_rest(fusioninfer, a)
    assert [one["requestURI"] for one in audit.requests(fusioninfer) if f"/{b}/" in one["requestURI"]] == []
    assert get(fusioninfer.api, mine)["data"] == before
    assert "deleted" in jane(fusioninfer, a, "delete", "isvc", "--all").stdout
    until(lambda: items(fusioninfer.api, path("inferenceservices", a)) == [], "all are deleted")


def said(cluster: Cluster, namespace: str, name: str) -> str:
    """Return the messages of a status."""
    stored = get(cluster.api, path("inferenceservices", namespace, name)).get("status", {})
    return " ".join(one["message"] for one in stored.get("conditions", []))


def observed(cluster: Cluster, namespace: str, name: str) -> int:
    stored = get(cluster.api, path("inferenceservices", namespace, name)).get("status", {})
    return int(stored.get("observedGeneration", 0))
