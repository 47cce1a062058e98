"""InferenceServices of the upstream project: the same group and kind, with the fields that this release has.

Earlier names of fields get their present ones. A field that no release knows is left out: the API server
would refuse or prune it.
"""

from collections.abc import Mapping
from typing import Final

from importer.leaves import Leaf, Tree, at, tagged
from importer.report import (
    ANY,
    OVERRIDDEN,
    UNREADABLE,
    Imported,
    Outcome,
    OutcomeRule,
    Problem,
    default,
    dropped,
)
from importer.stored import manifest
from intent import Object
from intent.errors import FieldError
from intent.inferenceservice import crd
from intent.inferenceservice.v1alpha1 import GROUP, KIND
from intent.names import is_dns_1035_label
from intent.shapes import mapping, metadata

__all__ = ["GROUP", "KIND", "translate"]

_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "roleReplicas": ("replicas",),
    "podReplicas": ("multinode", "nodeCount"),
}
"""Earlier names of a role's fields, with the places that they have now."""
_ROLE: Final = ("spec", "roles", ANY)


def translate(objects: Mapping[int, Object]) -> Imported:
    """Translate InferenceServices."""
    trees: list[Tree] = []
    problems: list[Problem] = []
    for number, one in objects.items():
        name = metadata(one).get("name")
        if isinstance(name, str) and is_dns_1035_label(name):
            trees.append(_known(_renamed(manifest(tagged(number, one))), crd.schema()))
        else:
            message = "must be a DNS label that begins with a letter: it names the service"
            problems.append(Problem(number, FieldError("metadata.name", name, message, UNREADABLE)))
    return Imported(tuple(trees), dict.fromkeys(objects, _RULES), tuple(problems))


def _renamed(tree: Tree) -> Tree:
    """Return an object whose roles have the present names of their fields."""
    roles = at(tree, "spec", "roles")
    if not isinstance(roles, list):
        return tree
    return {**tree, "spec": {**tree["spec"], "roles": [_role(one) for one in roles]}}


def _role(role: Tree) -> Tree:
    if not isinstance(role, dict):
        return role
    found: dict[str, Tree] = {}
    for key, one in role.items():
        field, *below = _ALIASES.get(key, (key,))
        if field == key:
            found[key] = one
        elif field not in role and isinstance(one, Leaf) and not (below and one.value == 1):
            found[field] = {below[0]: one} if below else one
    return found


def _known(tree: Tree, schema: Object) -> Tree:
    """Return the part of a tree for which a schema has fields."""
    fields = schema.get("properties")
    if isinstance(tree, dict) and isinstance(fields, dict):
        return {key: _known(one, fields[key]) for key, one in tree.items() if key in fields}
    if isinstance(tree, list):
        return [_known(one, mapping(schema.get("items"))) for one in tree]
    return tree


def _noted(reason: str, *path: str) -> OutcomeRule:
    return OutcomeRule((*_ROLE, *path), Outcome("kept", reason=reason))


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
