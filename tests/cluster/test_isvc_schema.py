"""The API server accepts and rejects the same InferenceServices as the offline check, at the same fields.

Writes are strict, as those of kubectl: an unknown field is an error. Other clients have it dropped.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import pytest

from intent import Object
from intent.annotations import INJECT
from intent.inferenceservice.embedded import EMBEDDED
from tests.builders.autoscaling import GOOD_ROLLOUTS, GOOD_SCALINGS
from tests.builders.gateway_api import GOOD_GATEWAYS, PARENTS
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import changed
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster
from webhook.inferenceservice import check

TEMPLATE: Final = "spec.roles.0.template"
POD: Final = f"{TEMPLATE}.spec"
CONTAINER: Final = f"{POD}.containers.0"
ROUTE: Final = "spec.roles.0.httproute"
GATEWAY: Final = "spec.roles.0.gateway"
INGRESS: Final = "spec.roles.0.ingress"
PORT: Final = {"containerPort": 8000}
CORS: Final = {"type": "CORS", "cors": {"allowMethods": ["GET", "POST"]}}

SCHEMA: Final = frozenset({"FI701", "FI702", "FI710", "FI716", "FI717"})
"""The codes of errors by the schema. There may be others at other fields: of a container without its name."""
KEY: Final = re.compile(r"\[([^]]*[^]0-9][^]]*)\]")
"""The key of a map in a path; the API server writes it like a field."""

GOOD: Final[dict[str, tuple[str, Any]]] = {
    "nothing changed": ("metadata.labels", {"a": "b"}),
    "a null": (f"{POD}.nodeSelector", None),
    "a null in a container": (f"{CONTAINER}.workingDir", None),
    "a whole number with a fraction of 0": (f"{POD}.terminationGracePeriodSeconds", 30.0),
    "an integer or a string: an integer": (f"{CONTAINER}.resources", {"limits": {"nvidia.com/gpu": 8}}),
    "an integer or a string: a string": (
        f"{CONTAINER}.resources",
        {"limits": {"nvidia.com/gpu": 8, "memory": "1.5Gi"}},
    ),
    "a quantity that is null": (f"{CONTAINER}.resources", {"limits": {"nvidia.com/gpu": 8, "cpu": None}}),
    "an annotation that is null": (f"{TEMPLATE}.metadata", {"annotations": {"a": None}}),
    "a port twice": (f"{CONTAINER}.ports", [PORT, PORT]),
    "an unknown value of a field that has no enum": (f"{POD}.dnsPolicy", "Mine"),
    "labels and annotations of the pods": (
        f"{TEMPLATE}.metadata",
        {"labels": {"a": "b"}, "annotations": {"c": "d"}},
    ),
    "an empty list": (f"{POD}.tolerations", []),
    "a claim template": (
        f"{POD}.volumes",
        [
            {
                "name": "v",
                "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {}}},
            }
        ],
    ),
}
BAD: Final[dict[str, tuple[str, Any]]] = {
    "an unknown field of the template": (f"{TEMPLATE}.sepc", {}),
    "an unknown field of the metadata": (f"{TEMPLATE}.metadata", {"generateName": "a"}),
    "an unknown field of the pod": (f"{POD}.nodeSelecter", {"a": "b"}),
    "an unknown field of a container": (f"{CONTAINER}.resorces", {"limits": {}}),
    "an unknown field that is null": (f"{CONTAINER}.resorces", None),
    "an unknown field of a volume": (f"{POD}.volumes", [{"name": "v", "emptyDyr": {}}]),
    "an unknown field of a route": (ROUTE, {"parentRefs": PARENTS, "mirrors": []}),
    "a pod as a list": (POD, []),
    "containers as an object": (f"{POD}.containers", {}),
    "no containers": (POD, {"nodeSelector": {}}),
    "containers that are null": (f"{POD}.containers", None),
    "a container without a name": (f"{POD}.containers", [{"image": "vllm/vllm-openai:v0.11.0"}]),
    "a container that is null": (f"{POD}.containers", [None]),
    "a port as a text": (f"{CONTAINER}.ports", [{"containerPort": "8000"}]),
    "a port with a fraction": (f"{CONTAINER}.ports", [{"containerPort": 80.5}]),
    "a port without a number": (f"{CONTAINER}.ports", [{"name": "http"}]),
    "a number beyond 64 bits": (f"{POD}.terminationGracePeriodSeconds", 2**63),
    "a flag as a text": (f"{POD}.hostNetwork", "true"),
    "a flag as a number": (f"{POD}.hostIPC", 1),
    "an argument that is a number": (f"{CONTAINER}.args", ["--port", 8000]),
    "an argument that is null": (f"{CONTAINER}.args", ["--model", None]),
    "a variable that is a number": (f"{CONTAINER}.env", [{"name": "A", "value": 1}]),
    "a variable twice": (f"{CONTAINER}.env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
    "a mount twice": (
        f"{CONTAINER}.volumeMounts",
        [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a"}],
    ),
    "a volume twice": (f"{POD}.volumes", [{"name": "v"}, {"name": "v"}]),
    "a quantity with a blank": (f"{CONTAINER}.resources", {"limits": {"memory": "16 Gi"}}),
    "a quantity that is a list": (f"{CONTAINER}.resources", {"limits": {"memory": []}}),
    "a quantity with a fraction as a number": (f"{CONTAINER}.resources", {"limits": {"cpu": 1.5}}),
    "an annotation that is a flag": (f"{TEMPLATE}.metadata", {"annotations": {"a": True}}),
    "a port of a probe that is a flag": (f"{CONTAINER}.readinessProbe", {"httpGet": {"port": True}}),
    "a probe without a port": (f"{CONTAINER}.readinessProbe", {"httpGet": {}}),
    "a constraint without its key": (f"{POD}.topologySpreadConstraints", [{"maxSkew": 1}]),
    "a method twice": (
        ROUTE,
        {"parentRefs": PARENTS, "rules": [{"filters": [{**CORS, "cors": {"allowMethods": ["GET", "GET"]}}]}]},
    ),
    "a port of a listener out of range": (
        GATEWAY,
        {"gatewayClassName": "a", "listeners": [{"name": "a", "port": 65536, "protocol": "HTTP"}]},
    ),
}


def changed_by(path: str, value: Any) -> Object:
    """Return an InferenceService with a value; a route, a gateway or an Ingress is in a router."""
    routed = path.startswith((ROUTE, GATEWAY, INGRESS))
    service = isvc(router(), worker()) if routed else isvc()
    made = changed(service, path, {} if value is None else value)
    if value is None:
        *above, last = path.split(".")
        within: Any = made
        for step in above:
            within = within[int(step)] if isinstance(within, list) else within[step]
        within[last] = None
    return made


def written(cluster: Cluster, service: Object, **query: str) -> Object:
    return create(cluster.api, path("inferenceservices", "default"), service, dryRun="All", **query)


def offline(service: Object) -> set[str]:
    """Return the fields with an error by the schema."""
    return {KEY.sub(r".\1", one.path) for one in check(service) if one.code in SCHEMA and not one.softened}


def fields(status: Object) -> set[str]:
    """Return the fields that a refusal names, in causes or in the message of the strict decoder.

    The cause without a field says that no CEL rule was checked.
    """
    unknown = re.findall(r'unknown field "([^"]*)"', status["message"])
    return set(unknown) or {one["field"] for one in status["details"]["causes"]} - {"<nil>"}


@pytest.mark.parametrize(("path", "value"), GOOD.values(), ids=GOOD)
def test_a_valid_service_is_accepted_by_both(admission: Cluster, path: str, value: Any) -> None:
    service = changed_by(path, value)

    assert [one for one in check(service) if one.severity == "error"] == []
    assert written(admission, service, fieldValidation="Strict")["kind"] == "InferenceService"


@pytest.mark.parametrize(("path", "value"), BAD.values(), ids=BAD)
def test_an_invalid_service_is_rejected_by_both_at_the_same_field(
    admission: Cluster, path: str, value: Any
) -> None:
    service = changed_by(path, value)

    with pytest.raises(ApiError) as refused:
        written(admission, service, fieldValidation="Strict")

    assert "admission webhook" not in refused.value.body["message"]
    assert offline(service) == fields(refused.value.body)


NAMING: Final[dict[str, Callable[[str], Object]]] = {
    "configRef": lambda name: isvc(router(configRef={"name": name, "key": "k"}, strategy=None), worker()),
    "pool": lambda name: isvc(router(pool={"ref": {"name": name}}, strategy=None), worker()),
    "baseRefs": lambda name: isvc(worker(), baseRefs=[name]),
}
"""InferenceServices that name an object in a field."""


@pytest.mark.parametrize("field", NAMING)
def test_the_definition_refuses_what_is_no_name(admission: Cluster, field: str) -> None:
    """No webhook is asked about an object that bypasses admission."""
    for name in ("../../b/configmaps/theirs", "..", "%2e%2e/x", "a/b", "X", "x\n"):
        service = changed(NAMING[field](name), "metadata.annotations", {INJECT: "disabled"})
        with pytest.raises(ApiError, match="should match"):
            written(admission, service)


def test_a_number_beyond_its_format_is_rejected_by_the_webhook(admission: Cluster) -> None:
    """The API server leaves formats of numbers to the types of Go, which a custom resource does not have."""
    service = changed_by(f"{CONTAINER}.ports", [{"containerPort": 2**31}])

    with pytest.raises(ApiError, match="must be a number of type int32") as refused:
        written(admission, service, fieldValidation="Strict")

    assert "admission webhook" in refused.value.body["message"]
    assert offline(service) == fields(refused.value.body)


SPECS: Final[dict[str, Object]] = {
    "template": isvc()["spec"]["roles"][0]["template"],
    "worker": isvc()["spec"]["roles"][0]["template"],
    "scaling": GOOD_SCALINGS["an external metric"],
    "rolloutStrategy": GOOD_ROLLOUTS["a surge"],
    "httproute": {"parentRefs": PARENTS},
    "gateway": GOOD_GATEWAYS["a listener"],
    "ingress": {},
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_an_unknown_field_is_dropped_for_other_clients(admission: Cluster, name: str) -> None:
    value = SPECS[name]
    at = f"spec.roles.0.{name}"
    service = changed_by(at, {**value, "added": {"a": 1}})

    stored = written(admission, service, fieldValidation="Ignore")

    assert stored["spec"]["roles"][0][name] == value
    assert offline(service) == {f"spec.roles[0].{name}.added"}
