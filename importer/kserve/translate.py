"""The importer of KServe: presets, then bases, then the service, merged its way, as an InferenceService."""

from collections.abc import Iterator
from typing import Final

from catalog.schemas import POD_TEMPLATE, schemas
from importer.account import UNKNOWN, Account, Outcome, take
from importer.kserve import drops
from importer.kserve.bases import PRESET, ConfigKey, with_bases
from importer.kserve.service import translated
from importer.leaves import LeafPath, Tree, fields_at, value_at, without, written
from intent.shapes import text

GROUP: Final = "serving.kserve.io"
SERVICE: Final = "LLMInferenceService"
CONFIG: Final = "LLMInferenceServiceConfig"


def translate(trees: dict[int, Tree], account: Account) -> None:
    """Translate all services, each with the bases that are among the objects merged in."""
    used = set[ConfigKey]()
    own = take(trees, GROUP, SERVICE, CONFIG)
    placed = {number: _placed(number, tree, account) for number, tree in own.items()}
    bases = {number: _key(tree) for number, tree in placed.items() if value_at(tree, "kind") == CONFIG}
    configs = {key: placed[number] for number, key in bases.items() if key[1]}
    for number in (number for number in placed if number not in bases):
        account.say(number, drops.OF_AUTHORS)
        with account.importing(number):
            service, keys = with_bases(number, placed[number], configs, account)
            account.objects += translated(service, account)
            used |= keys
    for number, key in bases.items():
        rules = drops.OF_PRESETS if key[1].startswith(PRESET) else drops.OF_AUTHORS
        account.say(number, rules if key in used else drops.OF_UNUSED)


def _key(config: Tree) -> ConfigKey:
    return text(value_at(config, "metadata", "namespace")), text(value_at(config, "metadata", "name"))


# --- fields that KServe does not have -----------------------------------------------------------------

_WORKLOAD: Final = frozenset({
    *("replicas", "parallelism", "template", "worker", "labels", "annotations", "scaling"),
    *("kvCacheOffloading", "rolloutStrategy"),
})  # fmt: skip
_SPEC: Final = _WORKLOAD | {"model", "prefill", "router", "tracing", "storageInitializer", "baseRefs"}


def _placed(number: int, tree: Tree, account: Account) -> Tree:
    """Return the tree of an object without the fields that KServe does not have in a spec and its pods."""
    for path, remedy in [*_misplaced(tree)]:
        why = f"KServe has no field {path[-1]} in {written(path[:-1])}, and drops it{remedy}"
        account.say(number, {path: Outcome("dropped", why, UNKNOWN)})
        tree = without(tree, path)
    return tree


def _misplaced(tree: Tree) -> Iterator[tuple[LeafPath, str]]:
    """Yield the path of each such field, and the remedy for fields that are one level too deep."""
    pod_fields = frozenset(schemas()[POD_TEMPLATE].root["properties"]["spec"]["properties"])
    places: list[tuple[LeafPath, frozenset[str]]] = [(("spec",), _SPEC), (("spec", "prefill"), _WORKLOAD)]
    places += [((*above, pod), pod_fields) for above, _ in places for pod in ("template", "worker")]
    for place, fields in places:
        for name, below in fields_at(tree, *place).items():
            if name not in fields:
                inner = ", ".join(field for field in fields_at(below) if field in fields)
                yield (*place, name), f": write {inner} one level up, in {written(place)}" if inner else ""
