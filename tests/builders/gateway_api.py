"""Valid specs of HTTPRoutes and Gateways; and invalid ones, with the path of the error."""

from typing import Any, Final

from intent import Object

PARENTS: Final = [{"name": "shared", "namespace": "infra", "sectionName": "web"}]
POOL: Final = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "other"}
SERVICE: Final = {"name": "models", "port": 80}
REPLACE: Final = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}
REWRITE: Final = {"type": "URLRewrite", "urlRewrite": REPLACE}
REDIRECT: Final = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https", "statusCode": 301}}
SET: Final = {"name": "x-team", "value": "a"}
HEADERS: Final = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [SET]}}
MIRROR: Final = {"type": "RequestMirror", "requestMirror": {"backendRef": SERVICE, "percent": 5}}
LISTENER: Final = {"name": "web", "port": 80, "protocol": "HTTP"}
SECURE: Final = {
    "name": "tls",
    "port": 443,
    "protocol": "HTTPS",
    "hostname": "*.example.com",
    "tls": {"certificateRefs": [{"name": "cert"}]},
    "allowedRoutes": {"namespaces": {"from": "Selector", "selector": {"matchLabels": {"a": "b"}}}},
}


def route(*rules: Object, **fields: Any) -> Object:
    """Return the spec of an HTTPRoute."""
    return {"parentRefs": PARENTS, **({"rules": list(rules)} if rules else {}), **fields}


def matched(**match: Any) -> Object:
    """Return an HTTPRoute with one match."""
    return route({"matches": [match]})


def filtered(*filters: Object, **rule: Any) -> Object:
    """Return an HTTPRoute with filters."""
    return route({"filters": list(filters), **rule})


def backed(*backends: Object) -> Object:
    """Return an HTTPRoute with backends."""
    return route({"backendRefs": list(backends)})


def parents(*references: Object) -> Object:
    """Return an HTTPRoute with other parents."""
    return {"parentRefs": list(references)}


def gateway(*listeners: Object, **fields: Any) -> Object:
    """Return the spec of a Gateway."""
    return {"gatewayClassName": "any", "listeners": list(listeners or (LISTENER,)), **fields}


def listener(**fields: Any) -> Object:
    """Return a Gateway with one listener."""
    return gateway({**LISTENER, **fields})


PREFIX: Final = {"path": {"type": "PathPrefix", "value": "/v1"}}
GOOD_ROUTES: Final[dict[str, Object]] = {
    "parents": route(),
    "hostnames": route(hostnames=["llm.example.com", "*.example.com"]),
    "two listeners": parents({"name": "g", "sectionName": "a"}, {"name": "g", "sectionName": "b"}),
    "a Service of a mesh": parents({"group": "", "kind": "Service", "name": "s", "port": 80}),
    "matches": matched(
        path={"type": "RegularExpression", "value": "/v1/.*"},
        headers=[{"name": "x-model", "type": "RegularExpression", "value": "llama.*"}],
        queryParams=[{"name": "beta", "value": "true"}],
        method="POST",
    ),
    "a path": matched(path={"type": "Exact", "value": "/v1/chat%20completions"}),
    "backends": backed({**POOL, "weight": 90}, {**SERVICE, "weight": 10}),
    "timeouts": route({"timeouts": {"request": "10m", "backendRequest": "9m30s"}}),
    "no timeout": route({"timeouts": {"request": "0s", "backendRequest": "1h"}}),
    "headers": filtered(HEADERS, MIRROR),
    "a redirect": filtered(REDIRECT),
    "a rewrite": filtered(REWRITE, matches=[PREFIX]),
    "a name": route({"name": "chat"}, {"name": "embed"}),
}
BROKEN_ROUTES: Final[dict[str, tuple[Object, str]]] = {
    "a hostname in capitals": (route(hostnames=["LLM.example.com"]), ".hostnames[0]"),
    "too many hostnames": (route(hostnames=[f"h{at}.example.com" for at in range(17)]), ".hostnames"),
    "a misspelt field": (route(hostname=["a.example.com"]), ".hostname"),
    "a parent without a name": (parents({"namespace": "infra"}), ".parentRefs[0].name"),
    "a port of a parent as a text": (parents({"name": "g", "port": "80"}), ".parentRefs[0].port"),
    "a port of a parent out of range": (parents({"name": "g", "port": 65536}), ".parentRefs[0].port"),
    "a path of another type": (
        matched(path={"type": "Prefix", "value": "/v1"}),
        ".rules[0].matches[0].path.type",
    ),
    "a header with a colon": (
        matched(headers=[{"name": "a:", "value": "b"}]),
        ".rules[0].matches[0].headers[0].name",
    ),
    "a header twice": (
        matched(headers=[{"name": "a", "value": "b"}, {"name": "a", "value": "c"}]),
        ".rules[0].matches[0].headers[1]",
    ),
    "a backend as an object": (route({"backendRefs": SERVICE}), ".rules[0].backendRefs"),
    "another status code": (
        filtered({"type": "RequestRedirect", "requestRedirect": {"statusCode": 200}}),
        ".rules[0].filters[0].requestRedirect.statusCode",
    ),
    "a timeout without a unit": (route({"timeouts": {"request": "30"}}), ".rules[0].timeouts.request"),
}
GOOD_GATEWAYS: Final[dict[str, Object]] = {
    "a listener": gateway(),
    "two": gateway(LISTENER, SECURE),
    "a class of Istio": gateway(infrastructure={"annotations": {"a": "b"}, "labels": {"a": ""}}),
    "addresses": gateway(addresses=[{"value": "10.0.0.1"}, {"type": "Hostname", "value": "a.example.com"}]),
    "kinds of routes": listener(
        allowedRoutes={"namespaces": {"from": "All"}, "kinds": [{"kind": "HTTPRoute"}]}
    ),
}
BROKEN_GATEWAYS: Final[dict[str, tuple[Object, str]]] = {
    "no class": ({"listeners": [LISTENER]}, ".gatewayClassName"),
    "no listeners": ({"gatewayClassName": "any"}, ".listeners"),
    "none of them": ({"gatewayClassName": "any", "listeners": []}, ".listeners"),
    "a listener without a port": (gateway({"name": "web", "protocol": "HTTP"}), ".listeners[0].port"),
    "a port out of range": (listener(port=0), ".listeners[0].port"),
    "a name twice": (gateway(LISTENER, {**LISTENER, "port": 81}), ".listeners[1]"),
}
