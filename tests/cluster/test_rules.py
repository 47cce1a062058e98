"""Kubernetes, LWS's webhook and the Gateway API accept and refuse the same embedded specs as our rules.

What our schema alone refuses is left out: an API server takes unknown fields as warnings. The rules beside
the schemas of HTTPRoutes and Gateways are also compared with upstream's definitions, by their paths.
"""

import copy
from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS
from catalog.schemas import GATEWAY, HTTP_ROUTE
from hack.upstream import ORIGINS, RULES, defined, nodes
from intent import Object
from intent.gateway_api import OF_GATEWAY, OF_HTTP_ROUTE
from intent.inferenceservice.embedded import EMBEDDED
from intent.schema import violations
from sync.desired.endpoints import Endpoints
from sync.desired.render.routes import destination_rule
from sync.desired.routes import Routes
from tests.builders.autoscaling import BROKEN_ROLLOUTS, BROKEN_SCALINGS, GOOD_ROLLOUTS, GOOD_SCALINGS
from tests.builders.gateway_api import BROKEN_GATEWAYS, BROKEN_ROUTES, GOOD_GATEWAYS, GOOD_ROUTES
from tests.builders.ingresses import BROKEN_INGRESSES, GOOD_INGRESSES
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS

OURS: Final = {HTTP_ROUTE: OF_HTTP_ROUTE, GATEWAY: OF_GATEWAY}
BY_KEYS: Final = frozenset({".tls.frontend.perPort"})
"""What the keys of a list say here; its rule upstream says the same."""
OF_ITEMS: Final = frozenset({".listeners[]"})
"""Where our rule is about an item, and upstream's about the list."""


@pytest.mark.parametrize("name", OURS)
def test_each_field_with_a_rule_has_one_here(upstream: Built, name: str) -> None:
    origin = ORIGINS[name]
    schema = defined(upstream.source(origin.component, origin.file), origin.fields)

    assert {path for path, node in nodes(schema) if RULES in node or "oneOf" in node} - BY_KEYS == (
        OURS[name].keys() - OF_ITEMS
    )


# --- the API server ---------------------------------------------------------------------------------

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
    try:
        create(cluster.api, path(FIELDS[field], "default"), whole(field, spec), **STRICT)
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("field", "name"), CASES_GOOD)
def test_a_valid_spec_is_accepted(routed: Cluster, field: str, name: str) -> None:
    spec = GOOD[field][name]

    refused = answer(routed, field, spec)

    is_zero = field == "scaling" and spec.get("minReplicas") == 0
    assert (ZERO in refused) if is_zero else (refused == "")


@pytest.mark.parametrize(("field", "name"), CASES_BROKEN)
def test_an_invalid_spec_is_refused(routed: Cluster, field: str, name: str) -> None:
    spec, _ = BROKEN[field][name]
    row = EMBEDDED[field]

    assert list(violations(spec, row.schema.root, "", row.rules))
    assert answer(routed, field, spec)


def test_istio_s_own_schema_accepts_the_rule_for_the_endpoint_picker(routed: Cluster) -> None:
    rule = destination_rule(
        Routes("default", "demo", picker=PICKERS["gie-1.5"], config="", endpoints=Endpoints((1,)))
    )

    assert create(routed.api, path("destinationrules", "default"), rule, **STRICT)["spec"] == rule["spec"]
