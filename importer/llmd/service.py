"""A ModelService with its rendered base as an InferenceService, and the objects that stay what they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from importer.leaves import Leaf, Tree, at, plain, value_at
from importer.llmd.merge import merged
from importer.llmd.pods import Render, labels, pod_template
from importer.llmd.variables import Artifact
from intent.inferenceservice.v1alpha1 import API_VERSION, KIND
from intent.shapes import text

ROLES: Final[Mapping[str, str]] = {"prefill": "prefiller", "decode": "decoder"}
ROUTES: Final = ("httpRoute", "inferencePool", "eppDeployment")
"""The keys of a base that ask for an endpoint picker."""
BaseConfigObjects = Mapping[str, Tree]
"""The objects of a BaseConfig by their keys."""


@dataclass(frozen=True, slots=True)
class Given:
    """A ModelService, its rendered base, the files of its model, and what renders its own templates."""

    service: Tree
    base: BaseConfigObjects
    model: Artifact
    render: Render

    @property
    def spec(self) -> Tree:
        """The spec of the ModelService."""
        return at(self.service, "spec")


def translated(given: Given) -> tuple[Tree, ...]:
    """Return the InferenceService, and the Services and ConfigMaps of the base."""
    service, spec, base = given.service, given.spec, given.base
    found = [role for role in ROLES if _is_asked(spec, base, role)]
    split = len(found) == len(ROLES)
    roles = [_role(role, ROLES[role] if split else "worker", given) for role in found]
    router = _router(spec, base)
    priority = at(base.get("inferenceModel"), "spec", "criticality")
    made = {
        "apiVersion": Leaf(API_VERSION),
        "kind": Leaf(KIND),
        "metadata": _metadata(service),
        "spec": {
            **({"priority": priority} if router and isinstance(priority, Leaf) else {}),
            "roles": [*roles, *([router] if router else [])],
        },
    }
    return made, *_services(service, base, found), *_config_maps(service, base)


def _is_asked(spec: Tree, base: BaseConfigObjects, role: str) -> bool:
    return any(plain(one) is not None for one in (at(spec, role), base.get(f"{role}Deployment")))


def _metadata(service: Tree) -> Tree:
    own = at(service, "metadata")
    return {key: own[key] for key in ("name", "namespace", "labels", "annotations") if key in own}


# --- roles --------------------------------------------------------------------------------------------


def _role(name: str, component: str, given: Given) -> Tree:
    spec = given.spec
    workload, below = at(spec, name), given.base.get(f"{name}Deployment")
    asked = pod_template(name, workload, spec, given.model, given.render)
    replicas = at(below, "spec", "replicas") if workload is None else at(workload, "replicas")
    counted = {} if value_at(spec, "decoupleScaling") is True else {"replicas": replicas or Leaf(1)}
    types = at(workload, "acceleratorTypes")
    return {
        "name": Leaf(name),
        "componentType": Leaf(component),
        **counted,
        **({"acceleratorTypes": types} if isinstance(types, dict) else {}),
        "template": _ordered(merged(at(below, "spec", "template"), asked)),
    }


def _ordered(obj: Tree) -> Tree:
    """Return an object, or a template, with its fields in the order of Kubernetes."""
    first = [key for key in ("apiVersion", "kind", "metadata") if key in obj]
    return {key: obj[key] for key in (*first, *(one for one in obj if one not in first))}


# --- routes -------------------------------------------------------------------------------------------


def _router(spec: Tree, base: BaseConfigObjects) -> Tree:
    """Return the role of the router; None if neither the service nor its base asks for routes."""
    gateways = at(spec, "routing", "gatewayRefs")
    has_gateways = isinstance(gateways, list) and bool(gateways)
    if not has_gateways and not any(base.get(key) is not None for key in ROUTES):
        return None
    route = merged(at(base.get("httpRoute"), "spec"), {"parentRefs": gateways} if has_gateways else {})
    rules = at(route, "rules")
    if isinstance(rules, list):
        route = {**route, "rules": [_rule(one) for one in rules]}
    role = {"name": Leaf("router"), "componentType": Leaf("router")}
    return {**role, "httproute": route} if route else role


def _rule(rule: Tree) -> Tree:
    """Return a rule without a backend that is the pool: the service's own is the default."""
    backends = at(rule, "backendRefs")
    if isinstance(backends, list) and all(value_at(one, "kind") == "InferencePool" for one in backends):
        return {key: one for key, one in rule.items() if key != "backendRefs"} or Leaf({})
    return rule


# --- what stays ---------------------------------------------------------------------------------------


def _services(service: Tree, base: BaseConfigObjects, roles: list[str]) -> list[Tree]:
    """Return the Services of roles: their selectors are labels that the pods keep."""
    found = []
    for role in roles:
        one = base.get(f"{role}Service")
        if isinstance(one, dict):
            selector = labels(at(service, "spec"), role)
            over = {"metadata": _named(service, f"-service-{role}"), "spec": {"selector": selector}}
            found.append(_ordered(merged(one, over)))
    return found


def _named(service: Tree, suffix: str) -> dict[str, Tree]:
    name, namespace = at(service, "metadata", "name"), at(service, "metadata", "namespace")
    found: dict[str, Tree] = {"name": name.having(text(name.value) + suffix)}
    return {**found, "namespace": namespace} if isinstance(namespace, Leaf) else found


def _config_maps(service: Tree, base: BaseConfigObjects) -> list[Tree]:
    given = base.get("configMaps")
    namespace = at(service, "metadata", "namespace")
    own = {"metadata": {"namespace": namespace}} if isinstance(namespace, Leaf) else {}
    return [merged(own, one) for one in given if isinstance(one, dict)] if isinstance(given, list) else []
