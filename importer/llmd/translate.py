"""The importer of llm-d's ModelService."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from importer.gotemplate import TemplateError, render
from importer.leaves import Leaf, LeafPath, Origin, Tree, leaves, origins, tagged, value_at, written
from importer.llmd.service import Given, translated
from importer.llmd.variables import artifact, functions, variables
from importer.report import (
    EXPRESSION,
    IGNORED,
    MISSING,
    NO_COUNTERPART,
    OVERRIDDEN,
    Imported,
    Outcome,
    OutcomeRule,
    Problem,
    UntranslatableError,
    default,
    dropped,
    rule,
)
from intent import Object, yaml
from intent.errors import FieldError
from intent.names import is_dns_1035_label
from intent.shapes import mapping, metadata, text

GROUP: Final = "llm-d.ai"
KIND: Final = "ModelService"
KEYS: Final = (
    *("configMaps", "prefillDeployment", "decodeDeployment", "prefillService", "decodeService"),
    *("httpRoute", "inferencePool", "inferenceModel", "eppDeployment", "eppService"),
)
"""The keys of a BaseConfig; llm-d ignores others."""


@dataclass(slots=True)
class _Bases:
    """The BaseConfigs of the input, with the leaves of the objects that stand in their texts."""

    numbers: Mapping[tuple[str, str], int]
    objects: Mapping[int, Object]
    inner: defaultdict[int, dict[str, set[LeafPath]]] = field(default_factory=lambda: defaultdict(dict))
    """By ConfigMap and key: the leaves of the object in the text."""


def bases(objects: Sequence[Object]) -> frozenset[int]:
    """Return the indexes of the ConfigMaps that are BaseConfigs: a ModelService refers to them."""
    named = {key for one in objects if _is_service(one) if (key := _reference(one))}
    found = (at for at, one in enumerate(objects) if one.get("kind") == "ConfigMap" and _key(one) in named)
    return frozenset(found)


def translate(objects: Mapping[int, Object]) -> Imported:
    """Translate all ModelServices, each with its BaseConfig merged in."""
    config_maps = {_key(one): at for at, one in objects.items() if not _is_service(one)}
    known = _Bases(config_maps, objects)
    made: list[Tree] = []
    problems: list[Problem] = []
    for at, one in objects.items():
        if _is_service(one):
            try:
                made += _translated(at, one, known)
            except UntranslatableError as error:
                problems.append(Problem(at, FieldError(error.path, None, str(error), error.code)))
    failed = {one.document for one in problems}
    rules = {at: OF_SERVICES for at, one in objects.items() if _is_service(one) and at not in failed}
    outputs, of_bases = _collapsed(made, known)
    return Imported(outputs, {**rules, **of_bases}, tuple(problems))


def _is_service(obj: Object) -> bool:
    return obj.get("kind") == KIND


def _key(obj: Object) -> tuple[str, str]:
    return text(metadata(obj).get("namespace")), text(metadata(obj).get("name"))


def _reference(service: Object) -> tuple[str, str] | None:
    """Return namespace and name of the BaseConfig; None if the service has none."""
    ref = mapping(mapping(service.get("spec")).get("baseConfigMapRef"))
    namespace = text(ref.get("namespace")) or text(metadata(service).get("namespace"))
    return (namespace, text(ref["name"])) if text(ref.get("name")) else None


# --- one service --------------------------------------------------------------------------------------


def _translated(number: int, service: Object, known: _Bases) -> tuple[Tree, ...]:
    name, spec = metadata(service).get("name"), service.get("spec")
    if not isinstance(name, str) or not is_dns_1035_label(name):
        raise UntranslatableError("metadata.name", "must be a DNS label that begins with a letter")
    uri = mapping(mapping(spec).get("modelArtifacts")).get("uri")
    model = artifact(text(uri))
    if model is None:
        message = "must be hf://ORGANIZATION/MODEL or pvc://CLAIM/PATH: llm-d refuses other URIs"
        raise UntranslatableError("spec.modelArtifacts.uri", message)
    root, known_functions = variables(service, model), functions(service)

    def rendered(tree: Tree) -> Tree:
        if isinstance(tree, list):
            return [rendered(one) for one in tree]
        if not isinstance(tree, Leaf) or not isinstance(tree.value, str):
            return tree
        try:
            return tree.having(render(tree.value, root, known_functions))
        except TemplateError as error:
            where = written(tree.origins[0].path)
            raise UntranslatableError(where, str(error), EXPRESSION) from error

    base = _base(service, known, rendered)
    found = translated(Given(tagged(number, service), base, model, rendered))
    if not any(value_at(one, "componentType") != "router" for one in found[0]["spec"]["roles"]):
        raise UntranslatableError("spec", "needs prefill or decode, here or in its BaseConfig")
    return found


def _base(service: Object, known: _Bases, rendered: Any) -> dict[str, Tree]:
    """Return the rendered objects of the BaseConfig, whose leaves come from below the texts."""
    key = _reference(service)
    if key is None:
        return {}
    number = known.numbers.get(key)
    if number is None:
        message = f"needs the ConfigMap {'/'.join(one for one in key if one)[:80]}, which is not in the files"
        raise UntranslatableError("spec.baseConfigMapRef", message, MISSING)
    found: dict[str, Tree] = {}
    data = mapping(known.objects[number].get("data"))
    for name in (one for one in KEYS if isinstance(data.get(one), str)):
        try:
            value = _document(rendered(Leaf(data[name], (Origin(number, ("data", name)),))).value)
        except ValueError as error:
            message = f"its BaseConfig has no object in data.{name}: {error}"
            raise UntranslatableError("spec.baseConfigMapRef", message) from error
        except UntranslatableError as error:
            message = f"data.{name} of its BaseConfig, {error}"
            raise UntranslatableError("spec.baseConfigMapRef", message, error.code) from error
        if value:
            found[name] = tagged(number, value, ("data", name))
            inner = {("data", name, *path) for path, _ in leaves(value)}
            known.inner[number].setdefault(name, set()).update(inner)
    return found


def _document(source: str) -> Any:
    try:
        found = next(yaml.load(source), None)
    except yaml.UNREADABLE as error:
        raise ValueError(yaml.problem(error)) from error
    if not isinstance(found, dict | list | None):
        raise ValueError("it is a scalar")  # noqa: TRY004 - the type is that of a value in a file
    return found


# --- the texts of BaseConfigs -------------------------------------------------------------------------


def _collapsed(
    made: list[Tree], known: _Bases
) -> tuple[tuple[Tree, ...], dict[int, tuple[OutcomeRule, ...]]]:
    """Return the output with the texts of BaseConfigs as origins, and the rules for these texts.

    A text of which a part is lost is lost in the report, with the part: then no leaf has it as its origin.
    """
    placed = {origin for tree in made for origin in origins(tree)}
    rules: dict[int, tuple[OutcomeRule, ...]] = {}
    lost: set[Origin] = set()
    for number in known.numbers.values():
        found: list[OutcomeRule] = []
        for key, inner in known.inner[number].items():
            left = sorted((path for path in inner if Origin(number, path) not in placed), key=str)
            outcomes = [(path, _inner(path)) for path in left]
            gone = [(path, one) for path, one in outcomes if one.is_lost]
            if gone:
                lost.add(Origin(number, ("data", key)))
                found.append(OutcomeRule(("data", key), _partly(gone)))
            elif outcomes:
                found.append(OutcomeRule(("data", key), outcomes[0][1]))
        rules[number] = (*found, *_OF_BASES)
    return tuple(_with_texts(tree, lost, frozenset(known.numbers.values())) for tree in made), rules


def _partly(gone: list[tuple[LeafPath, Outcome]]) -> Outcome:
    names = ", ".join(written(path[2:]) for path, _ in gone[:_SHOWN])
    more = f" and {len(gone) - _SHOWN} more" if len(gone) > _SHOWN else ""
    return dropped(NO_COUNTERPART, f"of its object, {names}{more} are lost: {gone[0][1].reason}")


_SHOWN: Final = 5


def _with_texts(tree: Tree, lost: set[Origin], maps: frozenset[int]) -> Tree:
    if isinstance(tree, dict):
        return {key: _with_texts(one, lost, maps) for key, one in tree.items()}
    if isinstance(tree, list):
        return [_with_texts(one, lost, maps) for one in tree]
    whole = [Origin(one.document, one.path[:2]) if one.document in maps else one for one in tree.origins]
    return Leaf(tree.value, tuple(dict.fromkeys(one for one in whole if one not in lost)))


def _inner(path: LeafPath) -> Outcome:
    """Return the outcome of a leaf of an object in a text that is not in the output."""
    covering = [one for one in OF_OBJECTS if one.covers(path[1:])]
    return max(covering, key=lambda one: len(one.path)).outcome if covering else _OVERRIDDEN


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

_OF_BASES: Final = (
    *(rule(path, _MERGED) for path in ("apiVersion", "kind", "metadata", "immutable", "data")),
    rule("data.*", dropped(IGNORED, "llm-d reads no such key")),
    *(OutcomeRule(("data", key), default("the object adds nothing")) for key in KEYS),
)
OF_OBJECTS: Final[tuple[OutcomeRule, ...]] = (
    *(
        row
        for key in ("prefillDeployment", "decodeDeployment")
        for row in (
            OutcomeRule((key,), _METADATA),
            *(OutcomeRule((key, one), _OURS) for one in ("apiVersion", "kind", "status")),
            *(OutcomeRule((key, "metadata", one), _OURS) for one in ("name", "namespace")),
            OutcomeRule((key, "spec", "selector"), _OURS),
            OutcomeRule((key, "spec", "strategy"), _ROLLOUT),
            *(OutcomeRule((key, "spec", one), _OVERRIDDEN) for one in ("replicas", "template")),
        )
    ),
    *(OutcomeRule((key,), _OVERRIDDEN) for key in ("prefillService", "decodeService", "configMaps")),
    OutcomeRule(("httpRoute",), _OURS),
    OutcomeRule(("inferencePool",), _OURS),
    OutcomeRule(("inferenceModel",), _OURS),
    OutcomeRule(("eppService",), _OURS),
    OutcomeRule(("eppDeployment",), _PICKER),
    *(OutcomeRule(("eppDeployment", one), _OURS) for one in ("apiVersion", "kind")),
    OutcomeRule(("eppDeployment", "metadata"), _OURS),
    OutcomeRule(("eppDeployment", "spec", "selector"), _OURS),
)
"""By the key of a BaseConfig, and the path in its object."""

OF_SERVICES: Final[tuple[OutcomeRule, ...]] = (
    rule("apiVersion", default("the output is an InferenceService")),
    rule("kind", default("the output is an InferenceService")),
    rule("spec.baseConfigMapRef", default("the output has the fields of the BaseConfig")),
    rule("spec.decoupleScaling", default("`replicas` of a role is written, or not")),
    rule("spec.routing.modelName", default("templates refer to it, and labels of pods are made from it")),
    rule("spec.routing.ports", default("templates refer to them with getPort")),
    rule("spec.modelArtifacts.uri", default("templates refer to it: no container mounts the volume")),
    rule("spec.modelArtifacts.size", dropped(IGNORED, "no container mounts a volume of this size")),
    rule(
        "spec.modelArtifacts.authSecretName",
        dropped(IGNORED, "llm-d gives it to containers that mount hf://"),
    ),
    rule("spec.endpointPicker", _PICKER),
    *(
        row
        for role in ("prefill", "decode")
        for row in (
            rule(f"spec.{role}", default("the role is made from it")),
            rule(
                f"spec.{role}.replicas",
                dropped(NO_COUNTERPART, "with decoupleScaling, an autoscaler counts: the role begins with 1"),
            ),
            rule(f"spec.{role}.parallelism", dropped(IGNORED, "llm-d's controller does not read it")),
            *(
                rule(f"spec.{role}.{field}.*.mountModelVolume", default("no volume is mounted"))
                for field in ("containers", "initContainers")
            ),
            *(
                rule(f"spec.{role}.{field}.*.{part}", dropped(IGNORED, "an empty value overrides nothing"))
                for field in ("containers", "initContainers")
                for part in ("image", "command", "args", "env", "envFrom", "resources")
            ),
        )
    ),
)
