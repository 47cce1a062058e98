"""What the definition of InferenceServices refuses and drops, where no other test of schemas looks.

That the API server accepts and refuses the same as the offline check is in `test_file_schemas.py`, over
random mistakes, and in `test_bounds.py`, over the bounds of each field.
"""

from collections.abc import Callable
from typing import Any, Final

import pytest

from intent import Object
from intent.annotations import INJECT
from intent.inferenceservice.crd import EMBEDDED
from tests.builders.autoscaling import GOOD_ROLLOUTS, GOOD_SCALINGS
from tests.builders.gateway_api import GOOD_GATEWAYS, PARENTS
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import changed
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster
from webhook.inferenceservice import check

ROUTED: Final = frozenset({"httproute", "gateway", "ingress"})
"""The specs of a router; the others are those of an engine."""


def with_field(name: str, value: Any) -> Object:
    """Return an InferenceService whose first role has a field."""
    service = isvc(router(), worker()) if name in ROUTED else isvc()
    return changed(service, f"spec.roles.0.{name}", value)


def written(cluster: Cluster, service: Object, **query: str) -> Object:
    return create(cluster.api, path("inferenceservices", "default"), service, dryRun="All", **query)


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
    service = with_field("template.spec.containers.0.ports", [{"containerPort": 2**31}])

    with pytest.raises(ApiError, match="must be a number of type int32") as refused:
        written(admission, service, fieldValidation="Strict")

    assert "admission webhook" in refused.value.body["message"]


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
    service = with_field(name, {**value, "added": {"a": 1}})

    stored = written(admission, service, fieldValidation="Ignore")

    assert stored["spec"]["roles"][0][name] == value
    said = [one.path for one in check(service) if one.severity == "error" and not one.softened]
    assert said == [f"spec.roles[0].{name}.added"]
