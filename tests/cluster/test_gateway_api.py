"""The rules beside the schemas of HTTPRoutes and Gateways are those of upstream; Istio takes our rule.

They are compared with the definitions by their paths, and by valid and invalid specs with a real API server.
"""

from typing import Final

import pytest

from catalog.pickers.generations import PICKERS
from catalog.schemas import GATEWAY, HTTP_ROUTE
from hack.upstream import ORIGINS, RULES, defined, nodes
from intent import Object
from intent.gateway_api import OF_GATEWAY, OF_HTTP_ROUTE
from sync.desired.render.routes import destination_rule
from sync.desired.routes import Routes
from tests.builders.gateway_api import BROKEN_GATEWAYS, BROKEN_ROUTES, GOOD_GATEWAYS, GOOD_ROUTES
from tests.cluster.testbed.api import APPLY_PATCH, ApiError, call, create, path
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster

API_VERSION: Final = "gateway.networking.k8s.io/v1"
KINDS: Final = {"httproutes": "HTTPRoute", "gateways": "Gateway"}
GOOD: Final = {"httproutes": GOOD_ROUTES, "gateways": GOOD_GATEWAYS}
BROKEN: Final = {"httproutes": BROKEN_ROUTES, "gateways": BROKEN_GATEWAYS}
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

CASES_GOOD: Final = [(resource, name) for resource, cases in GOOD.items() for name in cases]
CASES_BROKEN: Final = [(resource, name) for resource, cases in BROKEN.items() for name in cases]


@pytest.mark.parametrize(("resource", "name"), CASES_GOOD)
def test_accepted_specs_are_accepted_by_the_api_server(routed: Cluster, resource: str, name: str) -> None:
    applied = tried(routed, resource, GOOD[resource][name])

    assert applied["kind"] == KINDS[resource]


@pytest.mark.parametrize(("resource", "name"), CASES_BROKEN)
def test_rejected_specs_are_rejected_by_the_api_server(routed: Cluster, resource: str, name: str) -> None:
    spec, _ = BROKEN[resource][name]

    with pytest.raises(ApiError):
        tried(routed, resource, spec)


def tried(cluster: Cluster, resource: str, spec: Object) -> Object:
    """Apply a spec server-side, as the controller does, without storing it."""
    metadata = {"name": "tried", "namespace": "default"}
    body = {"apiVersion": API_VERSION, "kind": KINDS[resource], "metadata": metadata, "spec": spec}
    target = f"{path(resource, 'default', 'tried')}?fieldManager=tests&force=true&dryRun=All"
    return call(cluster.api, "PATCH", target, body, APPLY_PATCH)


def test_istio_s_own_schema_accepts_the_rule_for_the_endpoint_picker(routed: Cluster) -> None:
    rule = destination_rule(Routes("default", "demo", picker=PICKERS["gie-1.5"], config="", port=1))

    dry = {"dryRun": "All", "fieldValidation": "Strict"}
    assert create(routed.api, path("destinationrules", "default"), rule, **dry)["spec"] == rule["spec"]
