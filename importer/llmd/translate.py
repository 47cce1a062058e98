"""The importer of llm-d's ModelService."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from importer.account import (
    MISSING,
    Account,
    OutcomeRule,
    UntranslatableError,
    default,
    ignored,
    lost,
    rule,
    service_name,
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


def bases(objects: Sequence[Object]) -> frozenset[int]:
    """Return the indexes of the ConfigMaps that are BaseConfigs: a ModelService refers to them."""
    named = {_reference(obj) for obj in objects if obj.get("kind") == KIND}
    config_maps = (number for number, obj in enumerate(objects) if obj.get("kind") == "ConfigMap")
    return frozenset(number for number in config_maps if _key(objects[number]) in named)


def translate(trees: Mapping[int, Tree], account: Account) -> None:
    """Translate all ModelServices, each with its BaseConfig merged in."""
    services = [number for number, tree in trees.items() if value_at(tree, "kind") == KIND]
    base_configs = {_key(plain(tree)): number for number, tree in trees.items() if number not in services}
    for number in services:
        account.say(number, *OF_SERVICES)
        with account.importing(number):
            account.objects += _translated(trees[number], base_configs, trees, account)
    for number in base_configs.values():
        account.say(number, *OF_BASES)


def _key(obj: Object) -> BaseKey:
    return text(metadata(obj).get("namespace")), text(metadata(obj).get("name"))


def _reference(service: Object) -> BaseKey | None:
    """Return namespace and name of the BaseConfig; None if the service has none."""
    ref = mapping(mapping(service.get("spec")).get("baseConfigMapRef"))
    namespace = text(ref.get("namespace")) or text(metadata(service).get("namespace"))
    return (namespace, text(ref["name"])) if text(ref.get("name")) else None


def _translated(
    tree: Tree, base_configs: Mapping[BaseKey, int], trees: Mapping[int, Tree], account: Account
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
        number = base_configs[key]
        service = replace(service, base=_base(number, trees[number], service, account))
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
            account.say(number, OutcomeRule(("data", name), lost(reason, partly=True)))
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
OF_BASES: Final = (  # of two rules for a path, the first one counts
    *(rule(path, _USED) for path in ("apiVersion", "kind", "metadata", "immutable", "data")),
    *(rule(f"data.{role}Service", _SERVICE) for role in ROLES),
    rule("data.eppDeployment", _PICKER),
    *(rule(f"data.{key}", _USED) for key in (*KEYS, "eppService")),
    rule("data.*", ignored("llm-d reads no such key")),
)
_REPLICAS: Final = lost("with decoupleScaling, an autoscaler counts: the role begins with 1")
OF_SERVICES: Final = (
    *(rule(path, _USED) for path in ("apiVersion", "kind", "spec")),
    rule("spec.endpointPicker", _PICKER),
    *(rule(f"spec.{role}.replicas", _REPLICAS) for role in ROLES),
)
