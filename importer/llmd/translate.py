"""The importer of llm-d's ModelService."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from importer.account import (
    MISSING,
    Account,
    UntranslatableError,
    default,
    ignored,
    lost,
    rules,
    service_name,
    take,
)
from importer.gotemplate import rendered
from importer.leaves import Leaf, LeafPath, Tree, at, fields_at, leaves, mapped, plain, value_at, written
from importer.llmd.service import ROLES, ModelService, translated
from importer.llmd.variables import artifact, functions, variables
from intent import Object, yaml
from intent.shapes import mapping, metadata, text

GROUP: Final = "llm-d.ai"
KIND: Final = "ModelService"
BaseKey = tuple[str, str]
"""Namespace and name of a BaseConfig."""


def translate(trees: dict[int, Tree], account: Account) -> None:
    """Translate all ModelServices, each with its BaseConfig merged in: a ConfigMap to which it refers."""
    services = take(trees, GROUP, KIND)
    references = {_reference(plain(tree)) for tree in services.values()}
    others = [number for number, tree in trees.items() if value_at(tree, "kind") == "ConfigMap"]
    keys = {_key(plain(trees[number])): number for number in others}
    base_configs = {key: (number, trees.pop(number)) for key, number in keys.items() if key in references}
    for number, tree in services.items():
        account.say(number, OF_SERVICES)
        with account.importing(number):
            account.objects += _translated(tree, base_configs, account)
    for number, _ in base_configs.values():
        account.say(number, OF_BASES)


def _key(obj: Object) -> BaseKey:
    return text(metadata(obj).get("namespace")), text(metadata(obj).get("name"))


def _reference(service: Object) -> BaseKey | None:
    """Return namespace and name of the BaseConfig; None if the service has none."""
    ref = mapping(mapping(service.get("spec")).get("baseConfigMapRef"))
    namespace = text(ref.get("namespace")) or text(metadata(service).get("namespace"))
    return (namespace, text(ref["name"])) if text(ref.get("name")) else None


def _translated(
    tree: Tree, base_configs: Mapping[BaseKey, tuple[int, Tree]], account: Account
) -> tuple[Tree, ...]:
    """Return the objects of a ModelService.

    Raises:
        UntranslatableError: llm-d would refuse it, its BaseConfig is missing, or a template is not supported.
    """
    service_name(tree)
    obj = plain(tree)
    model = artifact(text(value_at(tree, "spec", "modelArtifacts", "uri")))
    if model is None:
        message = "must be hf://ORGANIZATION/MODEL or pvc://CLAIM/PATH: llm-d refuses other URIs"
        raise UntranslatableError("spec.modelArtifacts.uri", message)
    render = partial(rendered, root=variables(obj, model), functions=functions(obj))
    service = ModelService(at(tree, "metadata"), at(tree, "spec"), {}, model, render)
    if (key := _reference(obj)) is not None:
        if key not in base_configs:
            message = f"needs the ConfigMap {'/'.join(filter(None, key))[:80]}, which is not in the files"
            raise UntranslatableError("spec.baseConfigMapRef", message, MISSING)
        service = replace(service, base=_base(*base_configs[key], service, account))
    output = translated(service)
    if not any(value_at(role, "componentType") != "router" for role in output[0]["spec"]["roles"]):
        raise UntranslatableError("spec", "needs prefill or decode, here or in its BaseConfig")
    return output


def _base(number: int, tree: Tree, service: ModelService, account: Account) -> Mapping[str, Tree]:
    """Return the rendered objects of a BaseConfig, whose leaves come from their texts."""
    data = fields_at(tree, "data")
    texts = {name: service.render(data[name]) for name in KEYS if isinstance(value_at(data, name), str)}
    objects = {name: _object(name, source) for name, source in texts.items()}
    for name in DEPLOYMENTS:
        if others := [written(path) for path, _ in leaves(objects.get(name, {})) if _is_lost(path)]:
            reason = f"of its object, {', '.join(others)} are lost: {DEPLOYMENT}"
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


def _is_lost(path: LeafPath) -> bool:
    """Return whether the output has nothing of a field of a Deployment."""
    return bool(path) and all(path[: len(known)] != known for known in _OF_DEPLOYMENTS)


# --- decided outcomes ---------------------------------------------------------------------------------

DEPLOYMENTS: Final = tuple(f"{role}Deployment" for role in ROLES)
KEYS: Final = ("configMaps", *DEPLOYMENTS, "httpRoute", "inferencePool", "inferenceModel", "eppDeployment")
"""The keys of a BaseConfig whose objects count here; llm-d knows three Services too, and ignores others."""
DEPLOYMENT: Final = "a LeaderWorkerSet takes the place of the Deployment: see `rolloutStrategy` of the role"
_OF_DEPLOYMENTS: Final[tuple[LeafPath, ...]] = (
    *(("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")),
    *(("spec", "selector"), ("spec", "replicas"), ("spec", "template")),
)
"""What the output has of a Deployment, as far as the ModelService has no other value."""
_USED: Final = default("the output has it, or the controller makes it by itself")
_PICKER: Final = lost(
    "the endpoint picker is another release: see `template` and `endpointPickerConfig` of the router"
)
_SERVICE: Final = lost("clients call the Service NAME-api: write others yourself")
_REPLICAS: Final = lost("with decoupleScaling, an autoscaler counts: the role begins with 1")
OF_BASES: Final = {
    **rules(dict.fromkeys(("apiVersion", "kind", "metadata", "immutable"), _USED)),
    **rules({"data": ignored("llm-d does not read it")}),
    **rules(dict.fromkeys((*KEYS, "eppService"), _USED), "data"),
    **rules({f"{role}Service": _SERVICE for role in ROLES} | {"eppDeployment": _PICKER}, "data"),
}
OF_SERVICES: Final = {
    **rules(dict.fromkeys(("apiVersion", "kind", "spec"), _USED)),
    **rules({"endpointPicker": _PICKER, **{f"{role}.replicas": _REPLICAS for role in ROLES}}, "spec"),
}
