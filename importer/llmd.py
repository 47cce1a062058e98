"""A ModelService with its BaseConfig, a ConfigMap of templates, as an InferenceService.

Source: llm-d-model-service, `internal/controller`: `child_resources.go`, `utils.go` and others.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from importer.account import (
    COMPONENT_TYPES,
    MISSING,
    Account,
    ObjectKey,
    Rules,
    UntranslatableError,
    default,
    ignored,
    key_of,
    lost,
    own_sidecar,
    rules,
    take,
)
from importer.gotemplate import FUNCTIONS, Function, TemplateError, Value, rendered
from importer.leaves import (
    Leaf,
    Tree,
    at,
    fields_at,
    items_at,
    leaves,
    manifest,
    mapped,
    picked,
    plain,
    value_at,
    written,
)
from importer.merge import LLM_D, merged
from intent import Object, yaml
from intent.inferenceservice.v1alpha1 import API_VERSION
from intent.inferenceservice.v1alpha1 import KIND as INFERENCE_SERVICE
from intent.shapes import listed, mapping, metadata, text

GROUP: Final = "llm-d.ai"
KIND: Final = "ModelService"
ROLES: Final = ("prefill", "decode")
DEPLOYMENTS: Final = tuple(f"{role}Deployment" for role in ROLES)
ROUTES: Final = ("httpRoute", "inferencePool", "eppDeployment")
"""The keys of a base that ask for an endpoint picker."""
KEYS: Final = ("configMaps", *DEPLOYMENTS, *ROUTES, "inferenceModel")
"""The keys of a BaseConfig whose objects count here; llm-d knows three Services too, and ignores others."""
Render = Callable[[Tree], Tree]
"""Renders the templates in a text, or in the texts of a list."""
CACHE: Final = "/model-cache"
"""Where the volume of the model is mounted."""
_LABEL: Final = 63
_URI: Final = re.compile(r"hf://(?P<repository>[^/]+/.+)|pvc://(?P<claim>[^/]+)(?P<path>(?:/.*)?)")
"""The URIs that llm-d's templates know: a repository of Hugging Face, or a path in a claim."""


def translate(trees: dict[int, Tree], account: Account) -> None:
    """Translate all ModelServices, each with its BaseConfig merged in: a ConfigMap to which it refers."""
    services = take(trees, GROUP, KIND)
    references = {_reference(tree) for tree in services.values()}
    keys = {key_of(tree): number for number, tree in trees.items() if value_at(tree, "kind") == "ConfigMap"}
    base_configs = {key: (number, trees.pop(number)) for key, number in keys.items() if key in references}
    for number, tree in services.items():
        account.say(number, OF_SERVICES)
        try:
            account.objects += _translated(tree, base_configs, account)
        except UntranslatableError as problem:
            account.problems[number] = problem.error
    for number, _ in base_configs.values():
        account.say(number, OF_BASES)


def _reference(service: Tree) -> ObjectKey | None:
    """Return the key of the BaseConfig; None if the service has none."""
    ref = {"metadata": at(service, "spec", "baseConfigMapRef")}
    namespace, name = key_of(ref)
    return (namespace or key_of(service)[0], name) if name else None


def _translated(
    tree: Tree, base_configs: Mapping[ObjectKey, tuple[int, Tree]], account: Account
) -> tuple[Tree, ...]:
    """Return the InferenceService, and the ConfigMaps of the base in its namespace.

    Raises:
        UntranslatableError: llm-d would refuse it, its BaseConfig is missing, or a template is not supported.
    """
    obj, spec = plain(tree), at(tree, "spec")
    model = _URI.fullmatch(text(value_at(spec, "modelArtifacts", "uri")))
    if model is None:
        message = "must be hf://ORGANIZATION/MODEL or pvc://CLAIM/PATH: llm-d refuses other URIs"
        raise UntranslatableError("spec.modelArtifacts.uri", message)
    render: Render = partial(rendered, root=variables(obj, model), functions=functions(obj))
    base: Mapping[str, Tree] = {}
    if (key := _reference(tree)) is not None:
        if key not in base_configs:
            message = f"needs the ConfigMap {'/'.join(filter(None, key))[:80]}, which is not in the files"
            raise UntranslatableError("spec.baseConfigMapRef", message, MISSING)
        base = _base(*base_configs[key], render, account)
    names = [name for name in ROLES if plain(at(spec, name)) is not None or f"{name}Deployment" in base]
    if not names:
        raise UntranslatableError("spec", "needs prefill or decode, here or in its BaseConfig")
    types = COMPONENT_TYPES if len(names) == len(ROLES) else dict.fromkeys(names, "worker")
    roles = [
        {
            "name": Leaf(name),
            "componentType": Leaf(types[name]),
            **_role(spec, name, base.get(f"{name}Deployment"), _pod(at(spec, name), spec, model, render)),
        }
        for name in names
    ]
    router = _router(spec, base)
    priority = at(base.get("inferenceModel"), "spec", "criticality")
    metadata = picked(at(tree, "metadata"), "name", "namespace", "labels", "annotations")
    fields = {
        **({"priority": priority} if router and isinstance(priority, Leaf) else {}),
        "roles": [*roles, *([router] if router else [])],
    }
    service = manifest(API_VERSION, INFERENCE_SERVICE, metadata, fields)
    namespace = {"metadata": picked(at(tree, "metadata"), "namespace")}
    config_maps = filter(fields_at, items_at(base.get("configMaps")))
    return service, *(merged(LLM_D, namespace, config_map) for config_map in config_maps)


# --- the base -----------------------------------------------------------------------------------------


def _base(number: int, tree: Tree, render: Render, account: Account) -> Mapping[str, Tree]:
    """Return the rendered objects of a BaseConfig by their keys; their leaves come from their texts."""
    data = fields_at(tree, "data")
    objects = {
        name: _object(name, render(data[name])) for name in KEYS if isinstance(value_at(data, name), str)
    }
    for name in DEPLOYMENTS:
        paths = [
            path for path, _ in leaves(objects.get(name, {})) if path and path[:2] not in _OF_DEPLOYMENTS
        ]
        if paths:
            reason = f"of its object, {', '.join(map(written, paths))} are lost: {_DEPLOYMENT}"
            account.say(number, {("data", name): lost(reason, partly=True)})
    return {name: value for name, value in objects.items() if value}


def _object(name: str, source: Leaf) -> Tree:
    """Return the object that a text of a BaseConfig has; empty if it has none."""
    try:
        value = next(yaml.load(source.value), None) or {}
    except yaml.UNREADABLE as error:
        raise UntranslatableError(f"data.{name}", f"is not YAML: {yaml.problem(error)}") from error
    if not isinstance(value, dict | list):
        raise UntranslatableError(f"data.{name}", "must be an object")
    return mapped(value, lambda _, leaf: source.having(leaf)) if value else {}


# --- the router ---------------------------------------------------------------------------------------


def _router(spec: Tree, base: Mapping[str, Tree]) -> Tree:
    """Return the role of the router; None if neither the service nor its base asks for routes."""
    gateways = items_at(spec, "routing", "gatewayRefs")
    if not gateways and base.keys().isdisjoint(ROUTES):
        return None
    route = merged(LLM_D, at(base.get("httpRoute"), "spec"), {"parentRefs": gateways} if gateways else {})
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


# --- pods ---------------------------------------------------------------------------------------------

VOLUME: Final = "model-storage"
TOKEN: Final = "HF_TOKEN"  # noqa: S105 - the name of a variable
FIELDS: Final = ("name", "image", "command", "env", "envFrom", "resources")


def _role(spec: Tree, name: str, below: Tree, pod: Tree) -> dict[str, Tree]:
    """Return a role: the pods that the ModelService asks for, over those of its base."""
    workload = at(spec, name)
    replicas = at(below, "spec", "replicas") if workload is None else at(workload, "replicas")
    is_scaled = value_at(spec, "decoupleScaling") is True
    template = merged(LLM_D, at(below, "spec", "template"), {"spec": pod})
    if skips := own_sidecar(template["spec"]):
        template = merged(LLM_D, template, {"metadata": {"annotations": skips}})
    return {
        **({} if is_scaled else {"replicas": replicas or Leaf(1)}),
        **{key: value for key, value in picked(workload, "acceleratorTypes").items() if fields_at(value)},
        "template": template,
    }


def _pod(workload: Tree, spec: Tree, model: re.Match[str], render: Render) -> dict[str, Tree]:
    """Return the containers that a role asks for, and the volume of the model's files if one mounts it."""
    pod: dict[str, Tree] = {}
    for field in ("containers", "initContainers"):
        for container in items_at(workload, field):
            own = picked(container, *FIELDS)
            if args := at(container, "args"):
                own["args"] = render(args)
            if value_at(container, "mountModelVolume") is True:
                path = container["mountModelVolume"].having(CACHE)
                own, volume = _mounting(own, path, at(spec, "modelArtifacts"), model)
                pod["volumes"] = [volume]
            pod.setdefault(field, []).append(own)
    return pod


def _mounting(own: Tree, path: Leaf, artifacts: Tree, model: re.Match[str]) -> tuple[Tree, Tree]:
    """Return a container that mounts the files of the model, with the variables for them, and the volume."""
    uri, secret, size = (at(artifacts, name) for name in ("uri", "authSecretName", "size"))
    mount: dict[str, Tree] = {"name": Leaf(VOLUME), "mountPath": path}
    volume: dict[str, Tree] = {"name": uri.having(VOLUME)}
    if model["claim"]:
        claim = {"claimName": uri.having(model["claim"]), "readOnly": Leaf(value=True)}
        own = {**own, "volumeMounts": [{**mount, "readOnly": Leaf(value=True)}]}
        return own, {**volume, "persistentVolumeClaim": claim}
    env: list[Tree] = [{"name": Leaf("HF_HOME"), "value": Leaf(CACHE)}]
    if isinstance(secret, Leaf) and secret.value:
        key = {"secretKeyRef": {"name": secret, "key": Leaf(TOKEN)}}
        env.append({"name": Leaf(TOKEN), "valueFrom": key})
    files = {"sizeLimit": size} if isinstance(size, Leaf) and size.value else Leaf({})
    return {**merged(LLM_D, {"env": env}, own), "volumeMounts": [mount]}, {**volume, "emptyDir": files}


# --- templates ----------------------------------------------------------------------------------------
# Their variables and functions: `template.go`, `TemplateVars`.


def sanitized(model: str) -> str:
    """Return the name of a model as the value of a label."""
    return re.sub("[^a-z0-9-]", "-", model.lower()).strip("-")[:_LABEL].rstrip("-")


def variables(service: Object, model: re.Match[str]) -> Object:
    """Return the root of the templates of a ModelService."""
    spec, name = mapping(service.get("spec")), text(metadata(service).get("name"))
    served = text(mapping(spec.get("routing")).get("modelName"))
    path = model["repository"] or model["path"].strip("/")
    return {
        "ModelServiceName": name,
        "ModelServiceNamespace": text(metadata(service).get("namespace")),
        "ModelName": served,
        "SanitizedModelName": sanitized(served),
        "HFModelName": model["repository"] or "",
        "ModelPath": path,
        "MountedModelPath": f"{CACHE}/{path}".rstrip("/") if model["claim"] else CACHE,
        "AuthSecretName": text(mapping(spec.get("modelArtifacts")).get("authSecretName")),
        "EPPServiceName": f"{name}-epp-service",
        "EPPDeploymentName": f"{name}-epp",
        "PrefillDeploymentName": f"{name}-prefill",
        "DecodeDeploymentName": f"{name}-decode",
        "PrefillServiceName": f"{name}-service-prefill",
        "DecodeServiceName": f"{name}-service-decode",
        "InferencePoolName": f"{name}-inference-pool",
        "InferenceModelName": name,
    }


def functions(service: Object) -> Mapping[str, Function]:
    """Return the functions of the templates: Go's, `default`, and `getPort` of the ports of the routing."""
    routing = mapping(mapping(service.get("spec")).get("routing"))
    entries = map(mapping, listed(routing.get("ports")))
    ports = {text(entry.get("name")): entry.get("port") for entry in entries}

    def port(name: str) -> int:
        number = ports.get(name)
        if type(number) is not int:
            raise TemplateError("spec.routing.ports has no such port; llm-d itself would write -1")
        return number

    return {**FUNCTIONS, "default": defaulted, "getPort": port}


def defaulted(value: Value, *others: Value) -> Value:
    """Return the second argument, or the first one if that is empty (`Masterminds/sprig`)."""
    return others[0] if others and others[0] else value


# --- decided outcomes ---------------------------------------------------------------------------------

_DEPLOYMENT: Final = "a LeaderWorkerSet takes the place of the Deployment: see `rolloutStrategy` of the role"
_OF_DEPLOYMENTS: Final = frozenset(
    {
        *(("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")),
        *(("spec", "selector"), ("spec", "replicas"), ("spec", "template")),
    }
)
"""What the output has of a Deployment, as far as the ModelService has no other value."""
_USED: Final = default("the output has it, or the controller makes it by itself")
_PICKER: Final = lost(
    "the endpoint picker is another release: see `template` and `endpointPickerConfig` of the router"
)
_SERVICE: Final = lost("clients call the Service NAME-api: write others yourself")
_REPLICAS: Final = lost("with decoupleScaling, an autoscaler counts: the role begins with 1")
OF_BASES: Final[Rules] = {
    **rules(dict.fromkeys(("apiVersion", "kind", "metadata", "immutable"), _USED)),
    **rules({"data": ignored("llm-d does not read it")}),
    **rules(dict.fromkeys((*KEYS, "eppService"), _USED), "data"),
    **rules({f"{role}Service": _SERVICE for role in ROLES} | {"eppDeployment": _PICKER}, "data"),
}
OF_SERVICES: Final[Rules] = {
    **rules(dict.fromkeys(("apiVersion", "kind", "spec"), _USED)),
    **rules({"endpointPicker": _PICKER, **{f"{role}.replicas": _REPLICAS for role in ROLES}}, "spec"),
}
