"""A ModelService with its rendered base as an InferenceService, and the objects that stay what they are."""

from collections.abc import Iterator, Mapping
from typing import Final

from importer.leaves import Leaf, Tree, at, fields_at, items_at, picked, plain, value_at
from importer.llmd.merge import merged
from importer.llmd.pods import ModelService, labels, pod_template
from intent.inferenceservice.v1alpha1 import API_VERSION, KIND
from intent.shapes import text

ROLES: Final[Mapping[str, str]] = {"prefill": "prefiller", "decode": "decoder"}
ROUTES: Final = ("httpRoute", "inferencePool", "eppDeployment")
"""The keys of a base that ask for an endpoint picker."""


def translated(service: ModelService) -> tuple[Tree, ...]:
    """Return the InferenceService, and the Services and ConfigMaps of the base."""
    roles = [role for role in ROLES if _is_asked(service, role)]
    split = len(roles) == len(ROLES)
    router = _router(service)
    priority = at(service.base.get("inferenceModel"), "spec", "criticality")
    obj = {
        "apiVersion": Leaf(API_VERSION),
        "kind": Leaf(KIND),
        "metadata": picked(at(service.tree, "metadata"), "name", "namespace", "labels", "annotations"),
        "spec": {
            **({"priority": priority} if router and isinstance(priority, Leaf) else {}),
            "roles": [
                *(_role(role, ROLES[role] if split else "worker", service) for role in roles),
                *([router] if router else []),
            ],
        },
    }
    return obj, *_services(service, roles), *_config_maps(service)


def _is_asked(service: ModelService, role: str) -> bool:
    own, below = at(service.spec, role), service.base.get(f"{role}Deployment")
    return plain(own) is not None or plain(below) is not None


def _role(name: str, component: str, service: ModelService) -> Tree:
    workload, below = at(service.spec, name), service.base.get(f"{name}Deployment")
    replicas = at(below, "spec", "replicas") if workload is None else at(workload, "replicas")
    is_scaled = value_at(service.spec, "decoupleScaling") is True
    types = fields_at(workload, "acceleratorTypes")
    return {
        "name": Leaf(name),
        "componentType": Leaf(component),
        **({} if is_scaled else {"replicas": replicas or Leaf(1)}),
        **({"acceleratorTypes": types} if types else {}),
        "template": _ordered(merged(at(below, "spec", "template"), pod_template(name, service))),
    }


def _ordered(obj: Tree) -> Tree:
    """Return an object, or a template, with its fields in the order of Kubernetes."""
    return {**picked(obj, "apiVersion", "kind", "metadata"), **obj}


# --- routes -------------------------------------------------------------------------------------------


def _router(service: ModelService) -> Tree:
    """Return the role of the router; None if neither the service nor its base asks for routes."""
    gateways = items_at(service.spec, "routing", "gatewayRefs")
    if not gateways and not any(service.base.get(key) is not None for key in ROUTES):
        return None
    route = merged(at(service.base.get("httpRoute"), "spec"), {"parentRefs": gateways} if gateways else {})
    if rules := items_at(route, "rules"):
        route = {**route, "rules": [_rule(rule) for rule in rules]}
    role = {"name": Leaf("router"), "componentType": Leaf("router")}
    return {**role, "httproute": route} if route else role


def _rule(rule: Tree) -> Tree:
    """Return a rule without a backend that is the pool: the service's own is the default."""
    backends = at(rule, "backendRefs")
    if isinstance(backends, list) and all(value_at(each, "kind") == "InferencePool" for each in backends):
        return {key: value for key, value in rule.items() if key != "backendRefs"} or Leaf({})
    return rule


# --- what stays ---------------------------------------------------------------------------------------


def _services(service: ModelService, roles: list[str]) -> Iterator[Tree]:
    """Yield the Services of roles: their selectors are labels that the pods keep."""
    name = at(service.tree, "metadata", "name")
    for role in roles:
        if below := fields_at(service.base.get(f"{role}Service")):
            own_name = {"name": name.having(f"{text(name.value)}-service-{role}")}
            metadata = {**own_name, **picked(at(service.tree, "metadata"), "namespace")}
            yield _ordered(merged(below, {"metadata": metadata, "spec": {"selector": labels(service, role)}}))


def _config_maps(service: ModelService) -> Iterator[Tree]:
    """Yield the ConfigMaps of the base, in the namespace of the service."""
    own = {"metadata": picked(at(service.tree, "metadata"), "namespace")}
    for config_map in items_at(service.base.get("configMaps")):
        if isinstance(config_map, dict):
            yield merged(own, config_map)
