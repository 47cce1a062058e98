"""Renders the routes of a service: InferencePool, InferenceObjectives, Gateway, HTTPRoute, DestinationRule.

Sources: kubernetes-sigs/gateway-api-inference-extension `api/v1/inferencepool_types.go` as of v1.2 (no
`appProtocol`: only CRDs since v1.4 have it); kubernetes-sigs/gateway-api `apis/v1`.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from catalog.pickers.generations import OBJECTIVES_API, POOLS
from catalog.pickers.workload import GRPC_PORT
from intent import Object
from intent.annotations import SERVICE
from intent.names import picker_name
from intent.shapes import listed, mapping
from sync.parts.picker import (
    account,
    config_map,
    deployment,
    disruption_budget,
    electing,
    elects,
    reading,
    service,
)
from sync.parts.wanted import Routes, gateway_name, pool_name, route_name

POOL_API_VERSION: Final = f"{POOLS}/v1"
POOL_KIND: Final = "InferencePool"
TARGET_PORTS: Final = "targetPorts"


def inference_pool(routes: Routes) -> Object:
    """Render the InferencePool: the pods that serve, and the endpoint picker that chooses among them."""
    return {
        "apiVersion": POOL_API_VERSION,
        "kind": POOL_KIND,
        "metadata": routes.metadata(pool_name(routes.name)),
        "spec": {
            "selector": {"matchLabels": {SERVICE: routes.name, **routes.endpoints.selector}},
            TARGET_PORTS: [{"number": port} for port in routes.endpoints.ports],
            "endpointPickerRef": {
                "name": picker_name(routes.name),
                "port": {"number": GRPC_PORT},
                # While it is down any leader serves, but a prefiller must not.
                "failureMode": "FailClose" if routes.is_split else "FailOpen",
            },
        },
    }


def with_one_port(pool: Object) -> Object | None:
    """Return an InferencePool with its first port, which v1.0 alone allows; None if it is so."""
    spec = pool["spec"]
    fewer = spec | {TARGET_PORTS: spec[TARGET_PORTS][:1]} if TARGET_PORTS in spec else spec
    return None if fewer == spec else pool | {"spec": fewer}


def objectives(routes: Routes) -> Iterator[Object]:
    """Render the InferenceObjectives, by which requests get a priority other than 0.

    Source: `apix/v1alpha2/inferenceobjective_types.go` of v1.5.0.
    """
    for name, priority in routes.objectives:
        yield {
            "apiVersion": OBJECTIVES_API,
            "kind": "InferenceObjective",
            "metadata": routes.metadata(name),
            "spec": {
                "priority": priority,
                "poolRef": {"group": POOLS, "name": routes.pool},
            },
        }


GATEWAY_API_VERSION: Final = "gateway.networking.k8s.io/v1"
EVERYTHING: Final[Object] = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}
NO_TIMEOUT: Final[Object] = {"request": "0s"}
"""A long generation exceeds the default timeout of gateways (Envoy: 15 seconds)."""


def http_route(routes: Routes) -> Object:
    """Render the HTTPRoute: the author's own, with the pool as the backend of rules that name none."""
    authors, hostnames = routes.routing.http_route, list(routes.routing.hostnames)
    rules = authors.get("rules") or [EVERYTHING]
    return {
        "apiVersion": GATEWAY_API_VERSION,
        "kind": "HTTPRoute",
        "metadata": routes.metadata(route_name(routes.name)),
        "spec": {
            **({"hostnames": hostnames} if hostnames else {}),
            **authors,
            "parentRefs": _parents(routes),
            "rules": [_rule(rule, routes) for rule in rules] if isinstance(rules, list) else rules,
        },
    }


def _parents(routes: Routes) -> Any:
    """Return the author's parents of the HTTPRoute, else the gateway; without one there is no HTTPRoute."""
    namespace, slash, name = routes.routing.gateway.rpartition("/")
    of_gateway = [{"name": name, "namespace": namespace} if slash else {"name": name}] if name else []
    return routes.routing.http_route.get("parentRefs") or of_gateway


def _rule(rule: Any, routes: Routes) -> Any:
    """Add the pool to a rule without backends; a rule that redirects needs none. A port would be ignored."""
    if not isinstance(rule, dict) or rule.get("backendRefs") or _redirects(rule):
        return rule
    backend = {"group": POOLS, "kind": POOL_KIND, "name": routes.pool}
    return {"timeouts": NO_TIMEOUT, **rule, "backendRefs": [backend]}


def _redirects(rule: Object) -> bool:
    return any(mapping(one).get("type") == "RequestRedirect" for one in listed(rule.get("filters")))


def gateway(routes: Routes) -> Object:
    """Render the Gateway as its author wrote it."""
    return {
        "apiVersion": GATEWAY_API_VERSION,
        "kind": "Gateway",
        "metadata": routes.metadata(gateway_name(routes.name)),
        "spec": routes.router.gateway,
    }


ISTIO_API_VERSION: Final = "networking.istio.io/v1"
"""Served since Istio 1.22, which is earlier than its support of InferencePools."""


def destination_rule(routes: Routes) -> Object:
    """Render the DestinationRule: Istio calls a Service with TLS only if a rule says so.

    The endpoint picker creates its certificate when it starts, so the certificate is not verified. A host
    without dots is resolved in the rule's namespace, whatever the cluster's domain. Source:
    `config/charts/inferencepool/templates/istio.yaml` of kubernetes-sigs/gateway-api-inference-extension
    v1.5.0.
    """
    return {
        "apiVersion": ISTIO_API_VERSION,
        "kind": "DestinationRule",
        "metadata": routes.metadata(picker_name(routes.name)),
        "spec": {
            "host": picker_name(routes.name),
            "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
        },
    }


def _picks(routes: Routes) -> bool:
    """Return whether the pool and its endpoint picker are ours."""
    return not routes.router.pool


def _elects(routes: Routes) -> bool:
    return _picks(routes) and elects(routes)


def _needs_rule(routes: Routes) -> bool:
    """Return whether Istio needs a DestinationRule to call the endpoint picker."""
    settings = routes.settings
    return _picks(routes) and settings.destination_rules and settings.secure_serving


RENDERERS: Final[tuple[tuple[Callable[[Routes], Object], Callable[[Routes], object]], ...]] = (
    (account, _picks),
    (reading, _picks),
    (electing, _elects),
    (config_map, _picks),
    (inference_pool, _picks),
    (deployment, _picks),
    (disruption_budget, _elects),
    (service, _picks),
    (destination_rule, _needs_rule),
    (gateway, lambda routes: routes.router.gateway),
    (http_route, _parents),
)
"""The renderers of all objects that routes consist of, and the condition of each, in the order of applying.

The pool comes before the Deployment: without it an endpoint picker is not alive (`cmd/epp/runner/health.go`).
"""


def route_objects(routes: Routes) -> tuple[Object, ...]:
    """Render every object of the routes of a service."""
    parts = (render(routes) for render, is_wanted in RENDERERS if is_wanted(routes))
    return (*parts, *objectives(routes))
