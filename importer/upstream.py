"""InferenceServices of the upstream project: the same group and kind, with the fields that this release has.

Earlier names of fields get their present ones. A field that no release knows is left out: the API server
would refuse or prune it.
"""

from collections.abc import Mapping
from typing import Final

from importer.account import ANY, OVERRIDDEN, Account, OutcomeRule, default, dropped, kept, service_name
from importer.leaves import Leaf, Tree, at
from intent import Object
from intent.inferenceservice import crd
from intent.inferenceservice.v1alpha1 import GROUP, KIND
from intent.shapes import mapping

__all__ = ["GROUP", "KIND", "translate"]

_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "roleReplicas": ("replicas",),
    "podReplicas": ("multinode", "nodeCount"),
}
"""Earlier names of a role's fields, with the places that they have now."""
_ROLE: Final = ("spec", "roles", ANY)


def translate(trees: Mapping[int, Tree], account: Account) -> None:
    """Translate InferenceServices."""
    for number, tree in trees.items():
        account.say(number, *_RULES)
        with account.importing(number):
            service_name(tree)
            account.objects.append(_known(_renamed(tree), crd.schema()))


def _renamed(tree: Tree) -> Tree:
    """Return an object whose roles have the present names of their fields."""
    roles = at(tree, "spec", "roles")
    if not isinstance(roles, list):
        return tree
    return {**tree, "spec": {**tree["spec"], "roles": [_role(role) for role in roles]}}


def _role(role: Tree) -> Tree:
    if not isinstance(role, dict):
        return role
    renamed: dict[str, Tree] = {}
    for key, value in role.items():
        field, *below = _ALIASES.get(key, (key,))
        if field == key:
            renamed[key] = value
        elif field not in role and isinstance(value, Leaf) and not (below and value.value == 1):
            renamed[field] = {below[0]: value} if below else value
    return renamed


def _known(tree: Tree, schema: Object) -> Tree:
    """Return the part of a tree for which a schema has fields."""
    fields = schema.get("properties")
    if isinstance(tree, dict) and isinstance(fields, dict):
        return {key: _known(value, fields[key]) for key, value in tree.items() if key in fields}
    if isinstance(tree, list):
        return [_known(item, mapping(schema.get("items"))) for item in tree]
    return tree


def _noted(reason: str, *path: str) -> OutcomeRule:
    return OutcomeRule((*_ROLE, *path), kept(reason))


_RULES: Final[tuple[OutcomeRule, ...]] = (
    *(
        OutcomeRule((*_ROLE, alias), dropped(OVERRIDDEN, f"`{'.'.join(field)}` has the value"))
        for alias, field in _ALIASES.items()
    ),
    OutcomeRule((*_ROLE, "podReplicas"), default("a replica has one pod, or `multinode` says how many")),
    _noted("upstream does not read it; here a Gateway is made", "gateway"),
    _noted("upstream writes rules of its own; here these hold", "httproute", "rules"),
    _noted("upstream's pods have only the `spec`; here the metadata too", "template", "metadata"),
)
