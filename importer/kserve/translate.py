"""The importer of KServe: presets, then bases, then the service, merged its way, as an InferenceService."""

from collections.abc import Mapping
from typing import Final

from importer.kserve import drops
from importer.kserve.account import Account
from importer.kserve.bases import PREFIX, ConfigKey, Configs, found, presets, references, seen
from importer.kserve.merge import merged
from importer.kserve.places import misplaced
from importer.kserve.service import Merged, translated
from importer.kserve.variables import ExpressionError, data, rendered
from importer.leaves import Leaf, Tree, at, origins, plain, tagged, value_at, without, written
from importer.report import (
    EXPRESSION,
    MISSING,
    OVERRIDDEN,
    UNKNOWN,
    UNREADABLE,
    ByHand,
    Imported,
    OutcomeRule,
    Problem,
    UntranslatableError,
    dropped,
)
from intent import Object
from intent.commands import command, named
from intent.errors import FieldError
from intent.shapes import mapping, metadata, text

GROUP: Final = "serving.kserve.io"
SERVICE: Final = "LLMInferenceService"
CONFIG: Final = "LLMInferenceServiceConfig"
HOME: Final = "default"
"""The namespace of a service that names none."""
_OVERRIDDEN: Final = dropped(OVERRIDDEN, "a later base, or the service, has another value")
_STAYS: Final = "its command is no preset's, or only a shell can tell it; the pods start it as it is"
_NOT_SHIPPED: Final = "-worker-pipeline-parallel"
"""The end of the names of presets that KServe asks for, and does not install."""
_IS_PRESET: Final = f"{PREFIX}config-llm-"


def translate(objects: Mapping[int, Object]) -> Imported:
    """Translate all services, each with the bases that are among the objects merged in."""
    account, used, made, problems = Account(), set[ConfigKey](), list[Tree](), list[Problem]()
    by_hand = list[ByHand]()
    trees = {number: _placed(number, tagged(number, one), account) for number, one in objects.items()}
    configs = configs_of(trees)
    for number, tree in trees.items():
        if not _is(objects[number], SERVICE):
            continue
        account.say(number, drops.OF_SERVICES)
        try:
            service, keys = whole(objects[number], tree, configs, account)
            account.stays.clear()
            made += translated(service, account)
            by_hand += [ByHand(number, path, _STAYS) for path in account.stays]
            used |= keys
        except UntranslatableError as error:
            account.rules.pop(number)
            problems.append(Problem(number, FieldError(error.path, None, str(error), error.code)))
    for number, one in objects.items():
        if _is(one, CONFIG):
            account.say(number, _rules(one) if _key(one) in used else (drops.UNUSED,))
    rules = {number: tuple(rules) for number, rules in account.rules.items()}
    return Imported(tuple(made), rules, tuple(problems), tuple(by_hand))


def _placed(number: int, tree: Tree, account: Account) -> Tree:
    """Return the tree of an object without fields at places where KServe drops them."""
    for path, why in misplaced(at(tree, "spec")):
        account.rules[number].append(OutcomeRule(("spec", *path), dropped(UNKNOWN, why)))
        tree = without(tree, ("spec", *path))
    return tree


def _is(obj: Object, kind: str) -> bool:
    return obj.get("kind") == kind


def _key(config: Object) -> ConfigKey:
    return ConfigKey(*(text(metadata(config).get(name)) for name in ("namespace", "name")))


def configs_of(trees: Mapping[int, Tree]) -> Configs:
    """Return the bases among the trees of all objects; one without a name is none."""
    found = {number: plain(tree) for number, tree in trees.items()}
    configs = {_key(found[number]): tree for number, tree in trees.items() if _is(found[number], CONFIG)}
    return {key: tree for key, tree in configs.items() if key.name}


def _rules(config: Object) -> tuple[OutcomeRule, ...]:
    return drops.OF_PRESETS if _key(config).name.startswith(_IS_PRESET) else drops.OF_BASES


def whole(
    service: Object, tree: Tree, configs: Configs, account: Account
) -> tuple[Merged, frozenset[ConfigKey]]:
    """Return a service with its bases merged in and its templates rendered, and the keys of these bases.

    Raises:
        UntranslatableError: a base is missing, or a template cannot be rendered.
    """
    if not text(metadata(service).get("name")):
        raise UntranslatableError("metadata.name", "is missing: write the name", UNREADABLE)
    spec = at(tree, "spec")
    if not isinstance(spec, dict):
        raise UntranslatableError("spec", "must be an object with the service", UNREADABLE)
    namespace = text(metadata(service).get("namespace")) or HOME
    names = references(spec)
    if "" in names:
        where = f"spec.baseRefs[{names.index('')}].name"
        raise UntranslatableError(where, "is missing: write the name of the base", UNREADABLE)
    refs = {name: found(configs, namespace, name) for name in names}
    own = [key for key in map(refs.get, names) if key]
    asked = seen(spec, [_spec(configs[key]) for key in own])
    asked_for = {name: found(configs, namespace, name) for name in presets(asked)}
    if lacks := [name for name, key in {**refs, **asked_for}.items() if key is None]:
        where = "spec.baseRefs" if None in refs.values() else "spec"
        raise UntranslatableError(where, _not_in_files(lacks), MISSING)
    known = [key for key in asked_for.values() if key]
    layers = [_spec(configs[key]) for key in (*known, *own)]
    name = value_at(asked, "model", "name") or text(metadata(service).get("name"))
    root = data(metadata(service), mapping(plain(spec)), namespace, text(name))
    try:
        complete = rendered(_served(merged([*layers, spec]), asked), root)
        authors = rendered(merged([*layers[len(known) :], spec]), root)
    except ExpressionError as error:
        where = written(error.leaf.origins[0].path) if error.leaf.origins else "spec"
        raise UntranslatableError(where, str(error), EXPRESSION) from error
    kept = set(origins(complete))
    for layer in (*layers, spec):
        for document, path in origins(layer):
            if (document, path) not in kept and path[:2] != ("spec", "baseRefs"):
                account.rules[document].append(OutcomeRule(path, _OVERRIDDEN))
    return Merged(at(tree, "metadata"), namespace, complete, authors), frozenset((*known, *own))


def _served(spec: Tree, asked: Tree) -> Tree:
    """Return a spec with the name that templates see: a base's own name comes before that of the service."""
    name = at(asked, "model", "name")
    model = at(spec, "model")
    if not isinstance(name, Leaf) or not isinstance(model, dict):
        return spec
    return {**spec, "model": {**model, "name": name}}


def _spec(config: Tree) -> Tree:
    spec = at(config, "spec")
    return {key: one for key, one in spec.items() if key != "baseRefs"} if isinstance(spec, dict) else {}


def _not_in_files(names: list[str]) -> str:
    """Return the message about all bases and presets that are missing."""
    of_system = [name for name in names if name.startswith(_IS_PRESET)]
    if lacking := [name for name in of_system if name.endswith(_NOT_SHIPPED)]:
        return (
            f"`pipeline` with `worker` needs the LLMInferenceServiceConfig {lacking[0]}, which no release of "
            "KServe has: add your own, or remove `pipeline` here and set it in the InferenceService"
        )
    presets = ("llminferenceserviceconfig", "-n", "kserve", *map(named, of_system))
    get = command("kubectl", "get", *presets, "-o", "yaml")
    bases = len(names) - len(of_system)
    how = (*((get,) if of_system else ()), *(("the files of the bases",) if bases else ()))
    shown, verb = ", ".join(name[:80] for name in names), "are" if len(names) > 1 else "is"
    return (
        f"needs the LLMInferenceServiceConfig {shown}, which {verb} not in the files: add {' and '.join(how)}"
    )
