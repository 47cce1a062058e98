"""InferenceServices of the upstream project: the same group and kind, with the fields that this release has.

A field that this release does not know is left out: the API server would refuse or prune it.
"""

from collections.abc import Mapping
from typing import Final

from importer.account import ANY, Account, OutcomeRule, kept, service_name
from importer.leaves import Tree
from intent import Object
from intent.inferenceservice import crd
from intent.inferenceservice.v1alpha1 import GROUP, KIND
from intent.shapes import mapping

__all__ = ["GROUP", "KIND", "translate"]


def translate(trees: Mapping[int, Tree], account: Account) -> None:
    """Translate InferenceServices."""
    for number, tree in trees.items():
        account.say(number, *_RULES)
        with account.importing(number):
            service_name(tree)
            account.objects.append(_known(tree, crd.schema()))


def _known(tree: Tree, schema: Object) -> Tree:
    """Return the part of a tree for which a schema has fields."""
    fields = schema.get("properties")
    if isinstance(tree, dict) and isinstance(fields, dict):
        return {key: _known(value, fields[key]) for key, value in tree.items() if key in fields}
    if isinstance(tree, list):
        return [_known(item, mapping(schema.get("items"))) for item in tree]
    return tree


_RULES: Final = tuple(
    OutcomeRule(("spec", "roles", ANY, *path), kept(reason))
    for path, reason in (
        (("gateway",), "upstream does not read it; here a Gateway is made"),
        (("httproute", "rules"), "upstream writes rules of its own; here these hold"),
        (("template", "metadata"), "upstream's pods have only the `spec`; here the metadata too"),
    )
)
