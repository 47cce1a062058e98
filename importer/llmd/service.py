"""A ModelService with its rendered base as an InferenceService, and the ConfigMaps of the base.

Source: llm-d-model-service, `internal/controller`: `child_resources.go` and `utils.go`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from importer.leaves import Leaf, Tree, at, fields_at, items_at, picked, plain, value_at
from importer.llmd.merge import merged
from importer.llmd.variables import CACHE, Artifact
from intent.inferenceservice.v1alpha1 import API_VERSION, KIND

ROLES: Final[Mapping[str, str]] = {"prefill": "prefiller", "decode": "decoder"}
ROUTES: Final = ("httpRoute", "inferencePool", "eppDeployment")
"""The keys of a base that ask for an endpoint picker."""
VOLUME: Final = "model-storage"
TOKEN: Final = "HF_TOKEN"  # noqa: S105 - the name of a variable
FIELDS: Final = ("name", "image", "command", "env", "envFrom", "resources")
CONTAINERS: Final = ("containers", "initContainers")


@dataclass(frozen=True, slots=True)
class ModelService:
    """A ModelService with the files of its model, and its base."""

    metadata: Tree
    spec: Tree
    base: Mapping[str, Tree]
    """The rendered objects of its BaseConfig, by their keys."""
    model: Artifact
    render: Callable[[Tree], Tree]
    """Renders the templates in a text, or in the texts of a list."""


def translated(service: ModelService) -> tuple[Tree, ...]:
    """Return the InferenceService, and the ConfigMaps of the base in its namespace."""
    roles = [
        role
        for role in ROLES
        if plain(at(service.spec, role)) is not None or f"{role}Deployment" in service.base
    ]
    is_split = len(roles) == len(ROLES)
    router = _router(service)
    priority = at(service.base.get("inferenceModel"), "spec", "criticality")
    obj = {
        "apiVersion": Leaf(API_VERSION),
        "kind": Leaf(KIND),
        "metadata": picked(service.metadata, "name", "namespace", "labels", "annotations"),
        "spec": {
            **({"priority": priority} if router and isinstance(priority, Leaf) else {}),
            "roles": [
                *(_role(role, ROLES[role] if is_split else "worker", service) for role in roles),
                *([router] if router else []),
            ],
        },
    }
    config_maps = filter(fields_at, items_at(service.base.get("configMaps")))
    namespace = {"metadata": picked(service.metadata, "namespace")}
    return obj, *(merged(namespace, config_map) for config_map in config_maps)


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


# --- roles --------------------------------------------------------------------------------------------


def _role(name: str, component: str, service: ModelService) -> Tree:
    """Return a role: the pods that the ModelService asks for, over those of its base."""
    workload, below = at(service.spec, name), service.base.get(f"{name}Deployment")
    replicas = at(below, "spec", "replicas") if workload is None else at(workload, "replicas")
    is_scaled = value_at(service.spec, "decoupleScaling") is True
    types = fields_at(workload, "acceleratorTypes")
    lists = {field: items for field in CONTAINERS if (items := items_at(workload, field))}
    pod: dict[str, Tree] = {
        field: [_container(each, service) for each in items] for field, items in lists.items()
    }
    if any(_mounts(each) for items in lists.values() for each in items):
        pod["volumes"] = [_volume(service)]
    return {
        "name": Leaf(name),
        "componentType": Leaf(component),
        **({} if is_scaled else {"replicas": replicas or Leaf(1)}),
        **({"acceleratorTypes": types} if types else {}),
        "template": merged(at(below, "spec", "template"), {"spec": pod}),
    }


def _mounts(container: Tree) -> bool:
    return value_at(container, "mountModelVolume") is True


def _container(container: Tree, service: ModelService) -> Tree:
    """Return a container; one that mounts the files of the model has the variables for them too."""
    fields = picked(container, *FIELDS)
    if args := at(container, "args"):
        fields["args"] = service.render(args)
    if not _mounts(container):
        return fields
    mount = {"name": Leaf(VOLUME), "mountPath": container["mountModelVolume"].having(CACHE)}
    if service.model.claim:
        return {**fields, "volumeMounts": [{**mount, "readOnly": Leaf(value=True)}]}
    env: list[Tree] = [{"name": Leaf("HF_HOME"), "value": Leaf(CACHE)}]
    secret = at(service.spec, "modelArtifacts", "authSecretName")
    if isinstance(secret, Leaf) and secret.value:
        key = {"secretKeyRef": {"name": secret, "key": Leaf(TOKEN)}}
        env.append({"name": Leaf(TOKEN), "valueFrom": key})
    return {**merged({"env": env}, fields), "volumeMounts": [mount]}


def _volume(service: ModelService) -> Tree:
    """Return the volume of the model's files."""
    uri, size = (at(service.spec, "modelArtifacts", field) for field in ("uri", "size"))
    name = {"name": uri.having(VOLUME)}
    if service.model.claim:
        claim = {"claimName": uri.having(service.model.claim), "readOnly": Leaf(value=True)}
        return {**name, "persistentVolumeClaim": claim}
    return {**name, "emptyDir": {"sizeLimit": size} if isinstance(size, Leaf) and size.value else Leaf({})}
