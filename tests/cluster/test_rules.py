"""Kubernetes, LWS's webhook and the Gateway API accept and refuse the same embedded specs as the schemas.

What their rules refuse beyond the schemas, a dry run reports, as the controller sends before each write.
"""

import copy
from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS
from catalog.schemas import schemas
from intent import Object
from intent.annotations import Routing
from intent.inferenceservice.crd import EMBEDDED
from intent.schema import violations
from intent.settings import Settings
from sync.parts.endpoints import Endpoints
from sync.parts.traffic import Routes, destination_rule
from tests.builders.autoscaling import (
    BROKEN_ROLLOUTS,
    BROKEN_SCALINGS,
    GOOD_ROLLOUTS,
    GOOD_SCALINGS,
    external,
    rolling,
    scaling,
)
from tests.builders.gateway_api import (
    BROKEN_GATEWAYS,
    BROKEN_ROUTES,
    GOOD_GATEWAYS,
    GOOD_ROUTES,
    SECURE,
    backed,
    filtered,
    gateway,
    listener,
    matched,
)
from tests.builders.ingresses import BROKEN_INGRESSES, GOOD_INGRESSES, host
from tests.builders.ingresses import path as ingress
from tests.cluster.testbed.api import create, path, refusal
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS

STRICT: Final = {"dryRun": "All", "fieldValidation": "Strict"}
TARGET: Final = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "x"}
GATEWAY_API: Final = {"apiVersion": "gateway.networking.k8s.io/v1", "metadata": {"name": "x"}}
ZERO: Final = "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"
"""The answer without the feature gate HPAScaleToZero."""
FIELDS: Final = {
    "scaling": "horizontalpodautoscalers",
    "rolloutStrategy": "leaderworkersets",
    "ingress": "ingresses",
    "httproute": "httproutes",
    "gateway": "gateways",
}
"""The fields of a role with a spec of another API, and the resource."""
GOOD: Final[dict[str, Any]] = {
    "scaling": GOOD_SCALINGS,
    "rolloutStrategy": GOOD_ROLLOUTS,
    "ingress": GOOD_INGRESSES,
    "httproute": GOOD_ROUTES,
    "gateway": GOOD_GATEWAYS,
}
BROKEN: Final[dict[str, Any]] = {
    "scaling": {name: one for name, one in BROKEN_SCALINGS.items() if name != "a target"},
    "rolloutStrategy": BROKEN_ROLLOUTS,
    "ingress": BROKEN_INGRESSES,
    "httproute": BROKEN_ROUTES,
    "gateway": BROKEN_GATEWAYS,
}
BEYOND: Final[tuple[tuple[str, Object, str], ...]] = (
    ("httproute", matched(path={"value": "v1"}), "must be an absolute path and start with"),
    ("httproute", filtered({"type": "URLRewrite"}), "urlRewrite must be specified"),
    ("httproute", backed({"name": "models"}), "Must have port for Service reference"),
    ("gateway", gateway({**SECURE, "tls": {}}), "certificateRefs or options must be specified"),
    ("gateway", listener(protocol="TCP", hostname="a.b"), "hostname must not be specified"),
    ("ingress", ingress(path="v1"), "must be an absolute path"),
    ("ingress", host("10.0.0.1"), "must be a DNS name, not an IP address"),
    ("scaling", scaling(minReplicas=5), "must be greater than or equal to `minReplicas`"),
    ("scaling", scaling(external({"type": "Value"})), "must set either a target value"),
    ("rolloutStrategy", rolling(maxUnavailable=0), "must not be 0 when `maxSurge` is 0"),
    ("rolloutStrategy", rolling(partition=-1), "must be greater than or equal to 0"),
)
"""What rules beyond the schemas refuse, and the API server's words for it."""
CASES_GOOD: Final = [(field, name) for field, cases in GOOD.items() for name in cases]
CASES_BROKEN: Final = [(field, name) for field, cases in BROKEN.items() for name in cases]


def whole(field: str, spec: Object) -> Object:
    """Return an object of another API with a spec."""
    found = copy.deepcopy(spec)
    if field == "scaling":
        return {"metadata": {"name": "x"}, "spec": {"scaleTargetRef": TARGET, **found}}
    if field == "rolloutStrategy":
        return TRIAL_LWS | {"spec": {**TRIAL_LWS["spec"], "rolloutStrategy": found}}
    if field == "ingress":
        return {"metadata": {"name": "x"}, "spec": found}
    return {**GATEWAY_API, "kind": {"httproute": "HTTPRoute", "gateway": "Gateway"}[field], "spec": found}


def answer(cluster: Cluster, field: str, spec: Object) -> str:
    """Return why the API server refuses a spec; empty if it accepts it."""
    where = path(FIELDS[field], "default")
    return refusal(lambda: create(cluster.api, where, whole(field, spec), **STRICT))


@pytest.mark.parametrize(("field", "name"), CASES_GOOD)
def test_a_valid_spec_is_accepted(routed: Cluster, field: str, name: str) -> None:
    spec, schema = GOOD[field][name], schemas()[EMBEDDED[field]].root

    assert not list(violations(spec, schema, ""))
    refused = answer(routed, field, spec)

    is_zero = field == "scaling" and spec.get("minReplicas") == 0
    assert (ZERO in refused) if is_zero else (refused == "")


@pytest.mark.parametrize(("field", "name"), CASES_BROKEN)
def test_an_invalid_spec_is_refused(routed: Cluster, field: str, name: str) -> None:
    spec, where = BROKEN[field][name]
    schema = schemas()[EMBEDDED[field]].root

    assert {one.path for one in violations(spec, schema, "")} == {where}
    assert answer(routed, field, spec)


@pytest.mark.parametrize(("field", "spec", "words"), BEYOND)
def test_a_dry_run_reports_what_no_schema_can(routed: Cluster, field: str, spec: Object, words: str) -> None:
    schema = schemas()[EMBEDDED[field]].root

    assert not list(violations(spec, schema, ""))
    assert words in answer(routed, field, spec)


def test_istio_s_own_schema_accepts_the_rule_for_the_endpoint_picker(routed: Cluster) -> None:
    rule = destination_rule(
        Routes("default", "demo", PICKERS["gie-1.5"], Endpoints((1,)), Routing(), Settings())
    )

    assert create(routed.api, path("destinationrules", "default"), rule, **STRICT)["spec"] == rule["spec"]
