"""What policies of the manifests refuse: to the controller's account, and to those who imitate it."""

import base64
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from fusioninfer.cluster.diff import KUBECTL
from hack.manifests.objects import find
from intent import Object
from kube.request import FIELD_MANAGER
from sync.kinds import OUTPUTS
from sync.observed.cached import is_applied
from tests.cluster.testbed.api import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    Api,
    call,
    create,
    delete,
    get,
    path,
    refusal,
    update,
)
from tests.cluster.testbed.cluster import Cluster, api_as
from tests.cluster.testbed.wait import until

HOME: Final = "team-a"
OWNED: Final[Object] = {
    "labels": {"fusioninfer.io/service": "r1"},
    "ownerReferences": [
        {
            "apiVersion": "fusioninfer.io/v1alpha1",
            "kind": "InferenceService",
            "name": "r1",
            "uid": "3e5f3a52-8a4f-4a5c-9d0e-3a4f6a5f1c11",
            "controller": True,
        }
    ],
}
UNOWNED: Final = {"labels": OWNED["labels"], "ownerReferences": []}
MUTATE: Final = path("mutatingwebhookconfigurations", "", "mutate.fusioninfer.io")
VALIDATE: Final = path("validatingwebhookconfigurations", "", "validate.fusioninfer.io")
PORTS: Final[Object] = {"ports": [{"port": 80}]}
PEM: Final = base64.b64encode(b"none").decode()
Act = Callable[[Api], Any]


def service(name: str, **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, **OWNED, **metadata},
        "spec": {**PORTS, "selector": {"app": "x"}},
    }


def deployment(name: str, account: str) -> Object:
    labels = {"app": "x"}
    pods = {"serviceAccountName": account, "containers": [{"name": "epp", "image": "i"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, **OWNED},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pods},
        },
    }


def at(name: str, resource: str = "services", namespace: str = HOME) -> str:
    return path(resource, namespace, name)


def apply(api: Api, where: str, obj: Object, **query: str) -> Object:
    asked = urlencode({"fieldManager": FIELD_MANAGER, "force": "true", **query})
    return call(api, "PATCH", f"{where}?{asked}", obj, APPLY_PATCH)


def created(obj: Object, namespace: str = HOME) -> Act:
    return lambda api: create(api, path(f"{obj['kind'].lower()}s", namespace), obj)


def applied(where: str, obj: Object) -> Act:
    return lambda api: apply(api, where, obj)


def merged(where: str, patch: Object) -> Act:
    return lambda api: call(api, "PATCH", where, patch, MERGE_PATCH)


def amended(where: str, *operations: Object) -> Act:
    return lambda api: call(api, "PATCH", where, [*operations], JSON_PATCH)


def replaced(field: str, value: Any, op: str = "replace") -> Object:
    return {"op": op, "path": field, "value": value}


def removed(field: str) -> Object:
    return {"op": "remove", "path": field}


@pytest.fixture(scope="module")
def policed(stored: Cluster) -> Cluster:
    """The cluster once every policy is in force, with one object that the controller applied, and one not."""
    for name in (HOME, "excluded"):
        create(stored.api, path("namespaces"), {"metadata": {"name": name}})
    create(stored.api, path("services", HOME), service("theirs"))
    sync = api_as(stored, "sync")
    dry = {"dryRun": "All"}
    for act in (
        lambda: create(sync, path("services", HOME), service("x", **UNOWNED), **dry),
        lambda: call(sync, "PATCH", f"{MUTATE}?dryRun=All", [replaced("/webhooks", [])], JSON_PATCH),
        lambda: apply(stored.api, at("theirs"), service("theirs"), dryRun="All"),
    ):
        until(lambda act=act: denied(act), "the policy is in force")  # type: ignore[misc] # mypy cannot infer a lambda with a default
    apply(sync, at("ours"), service("ours"))
    apply(sync, at("r1-epp", "deployments"), deployment("r1-epp", "r1-epp"))
    return stored


def denied(act: Callable[[], Any]) -> bool:
    """Return whether a policy denies an act."""
    return "ValidatingAdmissionPolicy" in refusal(act)


# --- the controller's account -------------------------------------------------------------------------


def bound(policy: str, *folders: str) -> set[tuple[str, str]]:
    """Return groups and resources that a policy is about."""
    constraints = find("ValidatingAdmissionPolicy", policy, *folders)["spec"]["matchConstraints"]
    return {
        (group, resource)
        for rule in constraints["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_the_policies_are_about_every_kind_that_the_controller_writes() -> None:
    resources = [kind.resource for kind in OUTPUTS.values()]
    written = {(one.api_version.rpartition("/")[0], one.plural) for one in resources}

    assert bound("controller.fusioninfer.io") == written
    assert bound("ownership.fusioninfer.io", "ownership") == written | {
        (group, f"{plural}/*") for group, plural in written
    }


BESIDE: Final = {"create in kube-system", "create beside itself"}
OTHERS: Final = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}]
CALLED: Final = "/webhooks/0/clientConfig"
ACCOUNT: Final = "/spec/template/spec/serviceAccount"
PICKER: Final = at("r1-epp", "deployments")
ELSEWHERE: Final = {"spec": {"selector": {"app": "y"}}}
FORBIDDEN: Final[dict[str, Act]] = {
    "create without the label": created(service("x", labels={"app": "x"})),
    "create without an owner": created(service("x", **UNOWNED)),
    "create for another owner": created(service("x", ownerReferences=OTHERS)),
    "apply what is not there without an owner": applied(at("x"), service("x", **UNOWNED)),
    "create in kube-system": created(service("x"), "kube-system"),
    "create beside itself": created(service("x"), "fusioninfer-system"),
    "apply over an object of others": applied(at("theirs"), service("theirs")),
    "patch an object of others": merged(at("theirs"), ELSEWHERE),
    "delete an object of others": lambda api: delete(api, at("theirs")),
    "create a Deployment of another account": created(deployment("x", "admin")),
    "give its Deployment another account": amended(
        PICKER, replaced(f"{ACCOUNT}Name", "admin"), replaced(ACCOUNT, "admin")
    ),
    "give its Deployment no account": amended(PICKER, removed(f"{ACCOUNT}Name"), removed(ACCOUNT)),
    "send objects elsewhere": amended(
        MUTATE, replaced(CALLED, {"url": "https://evil.example/x", "caBundle": ""})
    ),
    "send objects to a Service": amended(
        MUTATE, replaced(CALLED, {"service": {"name": "evil", "namespace": HOME}})
    ),
    "ask for more objects": amended(MUTATE, replaced("/webhooks/0/rules/0/resources", ["*"])),
    "ignore a failing webhook": amended(VALIDATE, replaced("/webhooks/0/failurePolicy", "Ignore")),
    "remove a condition": amended(VALIDATE, removed("/webhooks/0/matchConditions")),
    "add a webhook": amended(
        MUTATE,
        {"op": "copy", "from": "/webhooks/0", "path": "/webhooks/-"},
        replaced("/webhooks/1/name", "evil.example.com"),
    ),
    "remove every webhook": amended(MUTATE, replaced("/webhooks", [])),
    "have a configuration collected": amended(VALIDATE, replaced("/metadata/ownerReferences", OTHERS, "add")),
    "label a configuration": amended(VALIDATE, replaced("/metadata/labels/x", "y", "add")),
}


@pytest.mark.parametrize("act", FORBIDDEN)
def test_the_controller_is_forbidden(policed: Cluster, act: str) -> None:
    message = refusal(lambda: FORBIDDEN[act](api_as(policed, "sync")))

    assert "ValidatingAdmissionPolicy" in message
    assert ("no objects of services in kube-system" in message) == (act in BESIDE)


ALLOWED: Final[dict[str, Act]] = {
    "create": created(service("created")),
    "create by an apply": applied(at("applied"), service("applied")),
    "apply again": applied(at("ours"), service("ours")),
    "patch": merged(at("ours"), ELSEWHERE),
    "apply a Deployment": applied(PICKER, deployment("r1-epp", "r1-epp")),
    "trust a CA": amended(MUTATE, replaced(f"{CALLED}/caBundle", PEM, "add")),
    "trust it twice": amended(
        VALIDATE, *(replaced(f"/webhooks/{each}/clientConfig/caBundle", PEM, "add") for each in (0, 1))
    ),
    "delete": lambda api: delete(api, at("ours")),
    "create a Lease beside itself": lambda api: create(
        api, path("leases", "fusioninfer-system"), {"metadata": {"name": "x"}}, dryRun="All"
    ),
}


@pytest.mark.parametrize("act", ALLOWED)
def test_the_controller_may(policed: Cluster, act: str) -> None:
    assert refusal(lambda: ALLOWED[act](api_as(policed, "sync"))) == ""


# --- those who imitate it -----------------------------------------------------------------------------

ENTRY: Final[Object] = {
    "manager": FIELD_MANAGER,
    "operation": "Apply",
    "apiVersion": "apps/v1",
    "time": "2026-01-01T00:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:replicas": {}}},
}
Forgery = Callable[[Api, str], Any]
"""Gives the Deployment of a name, which may be absent, the controller's entry."""


def with_entry(obj: Object) -> Object:
    metadata = obj["metadata"]
    return obj | {"metadata": metadata | {"managedFields": [*metadata.get("managedFields", []), ENTRY]}}


def there(api: Api, name: str) -> Object:
    """Create a Deployment as anybody does; return it as it is stored."""
    return created_by(api, deployment(name, "default"), fieldManager="kubectl")


def changed(api: Api, name: str, media: str, body: Any, subresource: str = "") -> Object:
    there(api, name)
    return call(api, "PATCH", path("deployments", HOME, name, subresource), body, media)


def put(api: Api, name: str, subresource: str = "") -> Object:
    stored = there(api, name)
    return update(api, path("deployments", HOME, name, subresource), with_entry(stored))


def applied_anew(api: Api, name: str, **query: str) -> Object:
    return apply(api, at(name, "deployments"), deployment(name, "default"), **query)


def applied_over(api: Api, name: str) -> Object:
    there(api, name)
    return applied_anew(api, name)


def applied_status(api: Api, name: str) -> Object:
    there(api, name)
    kind = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
    return apply(api, path("deployments", HOME, name, "status"), {**kind, "status": {"replicas": 1}})


def created_by(api: Api, obj: Object, **query: str) -> Object:
    return create(api, path("deployments", HOME), obj, **query)


FORGED: Final = {"metadata": {"managedFields": [ENTRY]}}
FORGERIES: Final[dict[str, Forgery]] = {
    "apply what is absent": applied_anew,
    "apply over an object": applied_over,
    "create with the entry": lambda api, name: created_by(api, with_entry(deployment(name, "default"))),
    "put": put,
    "put to the status": lambda api, name: put(api, name, "status"),
    "a merge patch": lambda api, name: changed(api, name, MERGE_PATCH, FORGED),
    "a JSON patch": lambda api, name: changed(
        api, name, JSON_PATCH, [replaced("/metadata/managedFields", [ENTRY])]
    ),
    "a merge patch of the status": lambda api, name: changed(api, name, MERGE_PATCH, FORGED, "status"),
}
IGNORED: Final = {"create with the entry", "put to the status", "a merge patch of the status"}
"""The API server ignores the entry: an object is created without any, and a status has its own."""
HARMLESS: Final[dict[str, Forgery]] = {
    "apply as another": lambda api, name: applied_anew(api, name, fieldManager="kubectl"),
    "create under the controller's name": lambda api, name: created_by(
        api, deployment(name, "default"), fieldManager=FIELD_MANAGER
    ),
    "change what the controller applied": lambda api, _: merged(PICKER, {"spec": {"replicas": 2}})(api),
    "scale it": lambda api, _: merged(f"{PICKER}/scale", {"spec": {"replicas": 3}})(api),
    "apply the status alone": applied_status,
}


@pytest.mark.parametrize(("act", "number"), [(act, number) for number, act in enumerate(FORGERIES)])
def test_nobody_imitates_the_controller(policed: Cluster, act: str, number: int) -> None:
    forged = refusal(lambda: FORGERIES[act](policed.api, f"forged-{number}"))

    is_made = not forged and is_applied(get(policed.api, at(f"forged-{number}", "deployments")))
    assert ("which only its controller makes" in forged, is_made) == (act not in IGNORED, False)


@pytest.mark.parametrize(("act", "number"), [(act, number) for number, act in enumerate(HARMLESS)])
def test_others_write_as_before(policed: Cluster, act: str, number: int) -> None:
    assert refusal(lambda: HARMLESS[act](policed.api, f"harmless-{number}")) == ""


def test_without_the_policy_most_count_as_the_controllers(policed: Cluster) -> None:
    where = path("validatingadmissionpolicybindings", "", "ownership.fusioninfer.io")
    binding = get(policed.api, where)
    delete(policed.api, where)
    try:
        again = partial(apply, policed.api, at("theirs"), service("theirs"), dryRun="All")
        until(lambda: not refusal(again), "it ends")
        found = {}
        for number, (act, forge) in enumerate(FORGERIES.items()):
            forge(policed.api, f"unbound-{number}")
            found[act] = is_applied(get(policed.api, at(f"unbound-{number}", "deployments")))
    finally:
        anew = {**binding, "metadata": {"name": "ownership.fusioninfer.io"}}
        create(policed.api, where.rpartition("/")[0], anew)

    assert found == {act: act not in IGNORED for act in FORGERIES}


def test_what_is_no_longer_desired_goes_only_under_the_manager_that_applied_it(policed: Cluster) -> None:
    """So `fusioninfer diff` proposes what the controller applied under the controller's manager."""
    sync = api_as(policed, "sync")
    apply(sync, at("shown"), service("shown", annotations={"a": "b"}))

    answers = {
        manager: apply(policed.api, at("shown"), service("shown"), fieldManager=manager, dryRun="All")
        for manager in (FIELD_MANAGER, KUBECTL)
    }

    kept = {manager: "annotations" in answer["metadata"] for manager, answer in answers.items()}
    assert kept == {FIELD_MANAGER: False, KUBECTL: True}


def test_the_secret_of_certificates_is_not_made_without_the_right_to_create_it(policed: Cluster) -> None:
    """An apply that creates asks for both verbs; the audit log has one."""
    where = path("roles", "fusioninfer-system", "fusioninfer-sync-certificates")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "fusioninfer-webhook-tls"}}
    role, sync = get(policed.api, where), api_as(policed, "sync")

    def denial() -> str:
        at_secret = path("secrets", "fusioninfer-system", "fusioninfer-webhook-tls")
        return refusal(lambda: apply(sync, at_secret, secret, dryRun="All"))

    assert denial() == ""
    narrowed = [rule | {"verbs": ["get", "patch"]} for rule in role["rules"]]
    call(policed.api, "PATCH", where, {"rules": narrowed}, MERGE_PATCH)
    until(lambda: "cannot create" in denial(), "the apply is refused")
    call(policed.api, "PATCH", where, {"rules": role["rules"]}, MERGE_PATCH)
    until(lambda: denial() == "", "it is accepted again")


def test_the_controller_adopts_what_it_made_and_what_lost_its_owners(policed: Cluster) -> None:
    sync = api_as(policed, "sync")
    apply(sync, at("orphan"), service("orphan"))
    amended(at("orphan"), removed("/metadata/ownerReferences"))(policed.api)

    assert refusal(lambda: apply(sync, at("orphan"), service("orphan"))) == ""
