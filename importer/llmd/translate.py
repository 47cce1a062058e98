"""The importer of llm-d's ModelService."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from importer.account import (
    IGNORED,
    MISSING,
    NO_COUNTERPART,
    OVERRIDDEN,
    Account,
    Outcome,
    OutcomeRule,
    UntranslatableError,
    default,
    dropped,
    rule,
    service_name,
)
from importer.expressions import rendered
from importer.leaves import Origin, Tree, fields_at, leaves, plain, tagged, value_at
from importer.llmd.pods import CONTAINERS, ModelService
from importer.llmd.service import translated
from importer.llmd.variables import artifact, functions, variables
from intent import Object, yaml
from intent.shapes import mapping, metadata, text

GROUP: Final = "llm-d.ai"
KIND: Final = "ModelService"
KEYS: Final = (
    *("configMaps", "prefillDeployment", "decodeDeployment", "prefillService", "decodeService"),
    *("httpRoute", "inferencePool", "inferenceModel", "eppDeployment", "eppService"),
)
"""The keys of a BaseConfig; llm-d ignores others."""
_REF: Final = "spec.baseConfigMapRef"
BaseKey = tuple[str, str]
"""Namespace and name of a BaseConfig."""


def bases(objects: Sequence[Object]) -> frozenset[int]:
    """Return the indexes of the ConfigMaps that are BaseConfigs: a ModelService refers to them."""
    named = {_reference(obj) for obj in objects if obj.get("kind") == KIND}
    config_maps = (number for number, obj in enumerate(objects) if obj.get("kind") == "ConfigMap")
    return frozenset(number for number in config_maps if _key(objects[number]) in named)


def translate(trees: Mapping[int, Tree], account: Account) -> None:
    """Translate all ModelServices, each with its BaseConfig merged in."""
    services = {number: tree for number, tree in trees.items() if value_at(tree, "kind") == KIND}
    base_configs = {_key(plain(tree)): number for number, tree in trees.items() if number not in services}
    for number, tree in services.items():
        account.say(number, *OF_SERVICES)
        with account.importing(number):
            account.objects += _translated(
                tree, {key: (n, trees[n]) for key, n in base_configs.items()}, account
            )
    for number in base_configs.values():
        account.say(number, *OF_BASES)


def _key(obj: Object) -> BaseKey:
    return text(metadata(obj).get("namespace")), text(metadata(obj).get("name"))


def _reference(service: Object) -> BaseKey | None:
    """Return namespace and name of the BaseConfig; None if the service has none."""
    ref = mapping(mapping(service.get("spec")).get("baseConfigMapRef"))
    namespace = text(ref.get("namespace")) or text(metadata(service).get("namespace"))
    return (namespace, text(ref["name"])) if text(ref.get("name")) else None


# --- one service --------------------------------------------------------------------------------------


def _translated(
    tree: Tree, base_configs: Mapping[BaseKey, tuple[int, Tree]], account: Account
) -> tuple[Tree, ...]:
    """Return the objects of a ModelService.

    Raises:
        UntranslatableError: llm-d would refuse it, its BaseConfig is missing, or a template is not supported.
    """
    service_name(tree)
    service = plain(tree)
    model = artifact(text(value_at(tree, "spec", "modelArtifacts", "uri")))
    if model is None:
        message = "must be hf://ORGANIZATION/MODEL or pvc://CLAIM/PATH: llm-d refuses other URIs"
        raise UntranslatableError("spec.modelArtifacts.uri", message)
    root, known_functions = variables(service, model), functions(service)

    def render(part: Tree) -> Tree:
        return rendered(part, root, known_functions)

    base: Mapping[str, Tree] = {}
    if (key := _reference(service)) is not None:
        if key not in base_configs:
            message = f"needs the ConfigMap {'/'.join(filter(None, key))[:80]}, which is not in the files"
            raise UntranslatableError(_REF, message, MISSING)
        base = _base(*base_configs[key], render, account)
    output = translated(ModelService(tree, base, model, render))
    if not any(value_at(role, "componentType") != "router" for role in output[0]["spec"]["roles"]):
        raise UntranslatableError("spec", "needs prefill or decode, here or in its BaseConfig")
    return output


def _base(number: int, tree: Tree, render: Any, account: Account) -> Mapping[str, Tree]:
    """Return the rendered objects of a BaseConfig, whose leaves come from below the texts."""
    objects: dict[str, Tree] = {}
    data = fields_at(tree, "data")
    for name in (name for name in KEYS if isinstance(value_at(data, name), str)):
        place = ("data", name)
        try:
            value = next(yaml.load(render(data[name]).value), None)
        except yaml.UNREADABLE as error:
            message = f"its BaseConfig has no object in data.{name}: {yaml.problem(error)}"
            raise UntranslatableError(_REF, message) from error
        except UntranslatableError as problem:
            message = f"data.{name} of its BaseConfig, {problem.error.message}"
            raise UntranslatableError(_REF, message, problem.error.code) from problem
        if not isinstance(value, dict | list | None):
            raise UntranslatableError(_REF, f"its BaseConfig has no object in data.{name}: it is a scalar")
        if value:
            objects[name] = tagged(number, value, place)
        account.parts[Origin(number, place)] |= {path: None for path, _ in leaves(value, place) if value}
    return objects


# --- decided outcomes ---------------------------------------------------------------------------------

_OVERRIDDEN: Final = dropped(OVERRIDDEN, "the ModelService has another value")
_OURS: Final = default("the controller makes it by itself")
_PICKER: Final = dropped(
    NO_COUNTERPART,
    "the endpoint picker is another release: see `template` and `endpointPickerConfig` of the router",
)
_METADATA: Final = dropped(
    NO_COUNTERPART, "a LeaderWorkerSet is made in place of the Deployment: it has its own"
)
_ROLLOUT: Final = dropped(NO_COUNTERPART, "write `rolloutStrategy` of the role")
_MERGED: Final = default("the services that name it have its fields")

_OF_DEPLOYMENTS: Final[Mapping[str, Outcome]] = {
    "": _METADATA,
    **dict.fromkeys(("apiVersion", "kind", "status", "metadata.name", "metadata.namespace"), _OURS),
    "spec.selector": _OURS,
    "spec.strategy": _ROLLOUT,
    **dict.fromkeys(("spec.replicas", "spec.template"), _OVERRIDDEN),
}
_OF_OBJECTS: Final[Mapping[str, Outcome]] = {
    **{
        f"{key}.{path}".rstrip("."): outcome
        for key in ("prefillDeployment", "decodeDeployment")
        for path, outcome in _OF_DEPLOYMENTS.items()
    },
    **dict.fromkeys(("prefillService", "decodeService", "configMaps"), _OVERRIDDEN),
    **dict.fromkeys(("httpRoute", "inferencePool", "inferenceModel", "eppService"), _OURS),
    "eppDeployment": _PICKER,
    **{f"eppDeployment.{path}": _OURS for path in ("apiVersion", "kind", "metadata", "spec.selector")},
}
"""By the key of a BaseConfig, and the path in its object."""
OF_BASES: Final[tuple[OutcomeRule, ...]] = (
    *(rule(path, _MERGED) for path in ("apiVersion", "kind", "metadata", "immutable", "data")),
    *(rule(f"data.{path}", outcome) for path, outcome in _OF_OBJECTS.items()),
    rule("data.*", dropped(IGNORED, "llm-d reads no such key")),
)

_USED: Final = default("the output has what llm-d makes of it")
_NOT_USED: Final = dropped(IGNORED, "llm-d does not act upon it")
_OF_ROLES: Final[Mapping[str, Outcome]] = {
    "": _USED,
    ".replicas": dropped(
        NO_COUNTERPART, "with decoupleScaling, an autoscaler counts: the role begins with 1"
    ),
    ".parallelism": _NOT_USED,
    **{
        f".{field}.*.{part}": _NOT_USED
        for field in CONTAINERS
        for part in ("mountModelVolume", "image", "command", "args", "env", "envFrom", "resources")
    },
}
"""By the path in a role: what llm-d does not act upon there is empty, or false."""
OF_SERVICES: Final[tuple[OutcomeRule, ...]] = (
    *(rule(path, _USED) for path in ("apiVersion", "kind", "spec.baseConfigMapRef", "spec.decoupleScaling")),
    *(rule(f"spec.{path}", _USED) for path in ("routing.modelName", "routing.ports", "modelArtifacts.uri")),
    *(rule(f"spec.modelArtifacts.{path}", _NOT_USED) for path in ("size", "authSecretName")),
    rule("spec.endpointPicker", _PICKER),
    *(
        rule(f"spec.{role}{path}", outcome)
        for role in ("prefill", "decode")
        for path, outcome in _OF_ROLES.items()
    ),
)
