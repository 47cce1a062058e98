"""An upgrade to a definition with schemas, while services run and stored objects are invalid by it."""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from intent import Object
from intent.inferenceservice.crd import crd
from intent.inferenceservice.embedded import EMBEDDED
from tests.builders.gateway_api import PARENTS
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import changed
from tests.cluster.testbed.admissions import without
from tests.cluster.testbed.api import ApiError, apply, create, edit, get, patch, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.rollouts import Rollout, caught_up, generation, rollout, started
from tests.cluster.testbed.wait import until

NAME: Final = "inferenceservices.fusioninfer.io"
WEBHOOKS: Final = "validate.fusioninfer.io"
KUBECTL: Final = "kubectl"
"""The field manager that applied the definition."""
TEMPLATE: Final = "spec.roles.0.template"
CONTAINER: Final = f"{TEMPLATE}.spec.containers.0"
ENV: Final = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
RUNNING: Final = changed(isvc(worker(replicas=1), name="running"), f"{CONTAINER}.env", ENV)
SET: Final = "running-inference"
UNCHECKED: Final = isvc(worker(replicas=1), name="any", annotations={"fusioninfer.io/strategy": "queue-size"})
"""The webhook refuses it, and the API server alone does not."""
ROUTED: Final = isvc(router(), worker(replicas=1))
WRONG: Final[dict[str, tuple[str, Any]]] = {
    "type": (f"{CONTAINER}.ports", [{"containerPort": "8000"}]),
    "required": (f"{CONTAINER}.ports", [{"name": "http"}]),
    "keys": (f"{CONTAINER}.env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
    "pattern": (f"{CONTAINER}.resources.limits.memory", "16 GB"),
    "unknown": (f"{CONTAINER}.resorces", {"limits": {"cpu": "1"}}),
    "enum": (
        "spec.roles.0.httproute",
        {"parentRefs": PARENTS, "rules": [{"matches": [{"path": {"type": "Prefix"}}]}]},
    ),
}


def wrong(name: str) -> Object:
    """Return an InferenceService that the schemas do not allow."""
    field, value = WRONG[name]
    base = ROUTED if name == "enum" else isvc(worker(replicas=1))
    return changed(changed(base, "metadata.name", f"wrong-{name}"), field, value)


def earlier() -> Object:
    """Return the definition of a release in which the specs of other APIs had no schema."""
    whole = copy.deepcopy(crd())
    schema = whole["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    fields = schema["properties"]["spec"]["properties"]["roles"]["items"]["properties"]
    for name in EMBEDDED:
        fields[name] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return whole


def has_schemas(cluster: Cluster, namespace: str) -> bool:
    """Return whether the API server knows the fields of a template."""
    trial = changed(changed(isvc(), "metadata.name", "trial"), f"{TEMPLATE}.spec.added", 1)
    try:
        create(
            cluster.api, path("inferenceservices", namespace), trial, dryRun="All", fieldValidation="Strict"
        )
    except ApiError as error:
        return "strict decoding error" in error.body["message"]
    return False


@contextmanager
def without_webhook(cluster: Cluster, namespace: str) -> Iterator[None]:
    """Delete the validating webhooks for a while.

    kubectl would read the whole OpenAPI document, which the API server builds anew after each definition.
    """
    with without(cluster, path("validatingwebhookconfigurations", "", WEBHOOKS)):
        until(lambda: is_accepted(cluster, namespace), "no webhook is called")
        yield
    until(lambda: not is_accepted(cluster, namespace), "the webhook is called")


def is_accepted(cluster: Cluster, namespace: str) -> bool:
    """Return whether an InferenceService is accepted that only the webhook refuses."""
    try:
        create(cluster.api, path("inferenceservices", namespace), UNCHECKED, dryRun="All")
    except ApiError:
        return False
    return True


@pytest.fixture(scope="module")
def before(served: Cluster) -> Iterator[tuple[str, Rollout]]:
    """The namespace of the objects of the earlier release, and the pods of the running one."""
    with new_namespace(served) as namespace:
        there, definition = path("inferenceservices", namespace), path("customresourcedefinitions", "", NAME)
        apply(served.api, definition, earlier(), KUBECTL, force=True)
        until(lambda: not has_schemas(served, namespace), "the definition is the earlier one")
        client_side(served, namespace, RUNNING)
        pods = started(served, namespace, SET)
        apply(served.api, f"{there}/applied", changed(RUNNING, "metadata.name", "applied"))
        with without_webhook(served, namespace):
            for name in WRONG:
                create(served.api, there, wrong(name))
            edit(served.api, f"{there}/running", lambda live: changed(live, f"{CONTAINER}.added", {"a": 1}))
            apply(served.api, definition, crd(), KUBECTL, force=True)
            until(lambda: has_schemas(served, namespace), "the definition is the new one")
        yield namespace, pods


def client_side(cluster: Cluster, namespace: str, service: Object) -> None:
    """Apply an InferenceService with kubectl, without reading its schema."""
    words = ("apply", f"--namespace={namespace}", "--validate=false", "--filename=-")
    kubectl(cluster, *words, stdin=json.dumps(service))


def test_no_pod_restarts_though_a_field_is_dropped(served: Cluster, before: tuple[str, Rollout]) -> None:
    namespace, pods = before
    patch(served.api, path("inferenceservices", namespace, "running"), {"metadata": {"labels": {"c": "d"}}})
    caught_up(served, namespace)

    stored = get(served.api, path("inferenceservices", namespace, "running"))
    assert "added" not in stored["spec"]["roles"][0]["template"]["spec"]["containers"][0]
    assert rollout(served, namespace, SET) == pods
    assert generation(served, namespace, SET) == 1


@pytest.mark.parametrize("name", WRONG)
def test_a_stored_object_that_the_schema_does_not_allow_can_be_labelled_and_scaled(
    served: Cluster, before: tuple[str, Rollout], name: str
) -> None:
    there = path("inferenceservices", before[0], f"wrong-{name}")

    patch(served.api, there, {"metadata": {"labels": {"a": "b"}}})
    role = 1 if name == "enum" else 0
    scaled = edit(served.api, there, lambda live: changed(live, f"spec.roles.{role}.replicas", 2))

    assert scaled["metadata"]["generation"] == 2


@pytest.mark.parametrize("name", WRONG)
def test_the_controller_writes_its_status(served: Cluster, before: tuple[str, Rollout], name: str) -> None:
    there = path("inferenceservices", before[0], f"wrong-{name}")

    def is_current() -> bool:
        stored = get(served.api, there)
        status = stored.get("status", {})
        return bool(status.get("observedGeneration") == stored["metadata"]["generation"])

    until(is_current, "its status is current")
