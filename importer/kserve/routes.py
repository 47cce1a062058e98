"""The router of a service as a role of ours: routes, the endpoint picker, and its configuration."""

from typing import Final

from catalog.pickers.generations import PICKERS
from importer.account import Account, default, key_of, lost
from importer.leaves import Leaf, Tree, at, fields_at, items_at, manifest, origins, picked, plain, value_at
from intent import yaml
from intent.names import api_name
from intent.pickers.configuration import check_config
from intent.shapes import text

API_PORT: Final = 80
_POOL: Final = default("a rule without backends leads to the pool of the service")
_SERVICE: Final = default(f"the Service of the leaders has the port {API_PORT}")
PICKER: Final = "llm-d-0.10"
"""The release of the endpoint picker of KServe after 0.20, for a configuration of its author."""
GATEWAY_API: Final = "gateway.networking.k8s.io"


def router(service: Tree, *, split: bool, account: Account) -> tuple[Tree, Tree]:
    """Return the role `router`, or None; and an HTTPRoute that needs no endpoint picker, or None."""
    route = _route(service, account)
    scheduler = at(service, "spec", "router", "scheduler")
    if scheduler is None:
        metadata = {
            "name": Leaf(f"{key_of(service)[1]}-route"),
            **picked(at(service, "metadata"), "namespace"),
        }
        return None, route and manifest(f"{GATEWAY_API}/v1", "HTTPRoute", metadata, route)
    pool, inline = at(scheduler, "pool", "ref", "name"), at(scheduler, "config", "inline")
    ref = fields_at(scheduler, "config", "ref")
    role: dict[str, Tree] = {"name": Leaf("router"), "componentType": Leaf("router")}
    if isinstance(pool, Leaf):
        role["pool"] = {"ref": {"name": pool}}
    elif isinstance(ref.get("name"), Leaf):
        role["configRef"] = {"name": ref["name"], "key": ref.get("key", Leaf("epp"))}
    elif inline is not None and plain(inline):
        role |= _configuration(inline, account)
    if split and "endpointPickerConfig" not in role:
        role["strategy"] = Leaf("pd-disaggregation")
    if route:
        role["httproute"] = route
    return role, None


def _configuration(inline: Tree, account: Account) -> dict[str, Tree]:
    """Return an EndpointPickerConfig as a text, which all its leaves made; nothing if no release reads it."""
    config = text(inline.value) if isinstance(inline, Leaf) else yaml.dump(plain(inline))
    findings = check_config(config, PICKERS[PICKER], "")
    error = next((each for each in findings if each.severity == "error"), None)
    if error is None:
        return {"endpointPickerConfig": Leaf(config, tuple(origins(inline)))}
    account.leave(inline, lost(f"the endpoint picker refuses it: {error.message}"))
    return {}


# --- routes -------------------------------------------------------------------------------------------


def _route(service: Tree, account: Account) -> Tree:
    """Return the spec of the HTTPRoute; empty if there is none."""
    route = fields_at(service, "spec", "router", "route", "http", "spec")
    gateways = items_at(service, "spec", "router", "gateway", "refs")
    if route and gateways:
        account.leave(route.get("parentRefs", []), default("`router.gateway.refs` takes its place"))
        kind = {"group": Leaf(GATEWAY_API), "kind": Leaf("Gateway")}
        parents = [kind | picked(gateway, "name", "namespace", "sectionName") for gateway in gateways]
        route = {**route, "parentRefs": parents}
    if rules := items_at(route, "rules"):
        route = {**route, "rules": [_rule(service, rule, account) for rule in rules]}
    return route


def _rule(service: Tree, rule: Tree, account: Account) -> Tree:
    """Return a rule whose backends are ours: no backend for the pool, and the Service for leaders."""
    backends = items_at(rule, "backendRefs")
    if not backends or not all(isinstance(backend, dict) for backend in backends):
        return rule
    picks = at(service, "spec", "router", "scheduler") is not None
    if picks and len(backends) == 1 and _is_pool(service, backends[0]):
        return account.without(rule, ("backendRefs",), _POOL)
    return {**rule, "backendRefs": [_backend(service, backend, account) for backend in backends]}


def _is_pool(service: Tree, backend: Tree) -> bool:
    names = (f"{key_of(service)[1]}-inference-pool", None)
    return value_at(backend, "kind") == "InferencePool" and value_at(backend, "name") in names


def _backend(service: Tree, backend: dict[str, Tree], account: Account) -> Tree:
    kind, name = text(value_at(backend, "kind")) or "Service", value_at(backend, "name")
    of_workload = kind == "Service" and name == f"{key_of(service)[1]}-kserve-workload-svc"
    if not of_workload and not _is_pool(service, backend):
        return backend
    account.leave(picked(backend, "group", "kind", "port"), _SERVICE)
    name_of_ours = (at(backend, "name") or Leaf(None)).having(api_name(key_of(service)[1]))
    return {"name": name_of_ours, "port": Leaf(API_PORT), **picked(backend, "weight")}
