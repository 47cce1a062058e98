"""The importer of KServe: presets, then bases, then the service, merged its way, as an InferenceService."""

from collections.abc import Mapping
from typing import Final

from importer.account import UNKNOWN, Account, OutcomeRule, dropped
from importer.kserve import drops
from importer.kserve.bases import PRESET, ConfigKey, with_bases
from importer.kserve.places import misplaced
from importer.kserve.service import translated
from importer.leaves import Tree, at, value_at, without
from intent.shapes import text

GROUP: Final = "serving.kserve.io"
SERVICE: Final = "LLMInferenceService"
CONFIG: Final = "LLMInferenceServiceConfig"


def translate(trees: Mapping[int, Tree], account: Account) -> None:
    """Translate all services, each with the bases that are among the objects merged in."""
    used = set[ConfigKey]()
    placed = {number: _placed(number, tree, account) for number, tree in trees.items()}
    bases = {number: _key(tree) for number, tree in placed.items() if value_at(tree, "kind") == CONFIG}
    configs = {key: placed[number] for number, key in bases.items() if key.name}
    for number in (number for number in placed if number not in bases):
        account.say(number, *drops.OF_SERVICES)
        with account.importing(number):
            service, keys = with_bases(number, placed[number], configs, account)
            account.objects += translated(service, account)
            used |= keys
    for number, key in bases.items():
        rules = drops.OF_PRESETS if key.name.startswith(PRESET) else drops.OF_BASES
        account.say(number, *(rules if key in used else (drops.UNUSED,)))


def _placed(number: int, tree: Tree, account: Account) -> Tree:
    """Return the tree of an object without fields at places where KServe drops them."""
    for path, why in misplaced(at(tree, "spec")):
        account.say(number, OutcomeRule(("spec", *path), dropped(UNKNOWN, why)))
        tree = without(tree, ("spec", *path))
    return tree


def _key(config: Tree) -> ConfigKey:
    return ConfigKey(*(text(value_at(config, "metadata", field)) for field in ("namespace", "name")))
