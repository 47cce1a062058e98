"""The router of a service as a role of ours: routes, the endpoint picker, and its configuration."""

from typing import Final

from catalog.pickers.generations import PICKERS
from importer.kserve.account import Account
from importer.kserve.variables import child_name
from importer.leaves import Leaf, Tree, at, origins, plain, value_at
from importer.report import NO_COUNTERPART, default, dropped
from intent import yaml
from intent.names import api_name
from intent.pickers.configuration import check_config
from intent.shapes import text

CONTAINER: Final = "epp"
API_PORT: Final = 80
_POOL: Final = default("a rule without backends leads to the pool of the service")
_SERVICE: Final = default(f"the Service of the leaders has the port {API_PORT}")
_OVERRIDES: Final = ("resources", "env", "envFrom", "imagePullPolicy")
"""Fields of the endpoint picker's container that hold for any release of it."""
PICKER: Final = "llm-d-0.10"
"""The release of the endpoint picker of KServe after 0.20, for a configuration of its author."""
GATEWAY_API: Final = "gateway.networking.k8s.io"


def router(service: str, spec: Tree, authors: Tree, *, split: bool, account: Account) -> tuple[Tree, Tree]:
    """Return the role `router`, or None; and an HTTPRoute that needs no endpoint picker, or None.

    `authors` is the spec without presets: of the picker's pods, only what its author asks for is taken over.
    """
    route = _route(service, spec, account)
    scheduler = at(spec, "router", "scheduler")
    if scheduler is None:
        return None, route and _manifest(service, route)
    role: dict[str, Tree] = {"name": Leaf("router"), "componentType": Leaf("router")}
    pool, inline, ref = (
        at(scheduler, *path) for path in (("pool", "ref", "name"), ("config", "inline"), ("config", "ref"))
    )
    if isinstance(pool, Leaf):
        role["pool"] = {"ref": {"name": pool}}
    elif isinstance(ref, dict) and isinstance(ref.get("name"), Leaf):
        role["configRef"] = {"name": ref["name"], "key": ref.get("key", Leaf("epp"))}
    elif inline is not None and plain(inline):
        role |= _configuration(inline, account)
    if split and "endpointPickerConfig" not in role:
        role["strategy"] = Leaf("pd-disaggregation")
    template = _template(at(authors, "router", "scheduler"))
    if template and "pool" not in role:
        role["template"] = template
    if route:
        role["httproute"] = route
    return role, None


def _configuration(inline: Tree, account: Account) -> dict[str, Tree]:
    """Return an EndpointPickerConfig as a text, which all its leaves made; nothing if no release reads it."""
    config = text(inline.value) if isinstance(inline, Leaf) else yaml.dump(plain(inline))
    findings = check_config(config, PICKERS[PICKER], "")
    error = next((one for one in findings if one.severity == "error"), None)
    if error is None:
        return {"endpointPickerConfig": Leaf(config, tuple(origins(inline)))}
    account.leave(inline, dropped(NO_COUNTERPART, f"the endpoint picker refuses it: {error.message}"))
    return {}


def _template(scheduler: Tree) -> Tree:
    """Return the changes of the endpoint picker's pods that its author asks for."""
    metadata = {
        key: at(scheduler, key) for key in ("labels", "annotations") if isinstance(at(scheduler, key), dict)
    }
    containers = at(scheduler, "template", "containers")
    named = containers if isinstance(containers, list) else []
    main: dict[str, Tree] = next((one for one in named if value_at(one, "name") == "main"), {})
    changed = {key: main[key] for key in _OVERRIDES if key in main}
    if not metadata and not changed:
        return None
    containers = [{"name": main["name"].having(CONTAINER), **changed}] if changed else []
    return {**({"metadata": metadata} if metadata else {}), "spec": {"containers": containers}}


# --- routes -------------------------------------------------------------------------------------------


def _route(service: str, spec: Tree, account: Account) -> Tree:
    route = at(spec, "router", "route", "http", "spec")
    if not isinstance(route, dict):
        return None
    found = dict(route)
    gateways = at(spec, "router", "gateway", "refs")
    if isinstance(gateways, list) and gateways:
        account.leave(found.get("parentRefs", []), default("`router.gateway.refs` takes its place"))
        found["parentRefs"] = [_parent(one) for one in gateways]
    picks = at(spec, "router", "scheduler") is not None
    rules = found.get("rules")
    if isinstance(rules, list):
        found["rules"] = [_rule(service, one, account, picks=picks) for one in rules]
    return found


def _parent(gateway: Tree) -> Tree:
    if not isinstance(gateway, dict):
        return gateway
    fields = {key: gateway[key] for key in ("name", "namespace", "sectionName") if key in gateway}
    return {"group": Leaf(GATEWAY_API), "kind": Leaf("Gateway"), **fields}


def _rule(service: str, rule: Tree, account: Account, *, picks: bool) -> Tree:
    """Return a rule whose backends are ours: no backend for the pool, and the Service for leaders."""
    backends = at(rule, "backendRefs")
    if not isinstance(backends, list) or not all(isinstance(one, dict) for one in backends):
        return rule
    if picks and len(backends) == 1 and _is_pool(service, backends[0]):
        account.leave(backends, _POOL)
        return {key: value for key, value in rule.items() if key != "backendRefs"}
    return {**rule, "backendRefs": [_backend(service, one, account) for one in backends]}


def _is_pool(service: str, backend: Tree) -> bool:
    names = (child_name(service, "-inference-pool"), None)
    return value_at(backend, "kind") == "InferencePool" and value_at(backend, "name") in names


def _backend(service: str, backend: dict[str, Tree], account: Account) -> Tree:
    kind, name = text(value_at(backend, "kind")) or "Service", value_at(backend, "name")
    of_workload = kind == "Service" and name == child_name(service, "-kserve-workload-svc")
    if not of_workload and not _is_pool(service, backend):
        return backend
    for key in ("group", "kind", "port"):
        account.leave(backend.get(key, {}), _SERVICE)
    weight = {"weight": backend["weight"]} if "weight" in backend else {}
    return {"name": backend["name"].having(api_name(service)), "port": Leaf(API_PORT), **weight}


def _manifest(service: str, route: Tree) -> Tree:
    return {
        "apiVersion": Leaf(f"{GATEWAY_API}/v1"),
        "kind": Leaf("HTTPRoute"),
        "metadata": {"name": Leaf(f"{service}-route")},
        "spec": route,
    }
