"""Bases of services as InferenceTemplates, where the services stay the same.

An import merges the bases into each service, and its leaves carry their origins. What comes from a base alone
goes from the service into a template of that base. A field stays in the service if it has no place in a
template, if an expression made it that depends on the service, or if two services have it otherwise. Then
service and templates are compared with the merged service: both must expand to the same objects.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from importer.atoms import ROLES, AtomPath, Item, Parts, built, chosen, is_name, only_names, parts
from importer.leaves import Leaf, Origin, Tree, leaves, plain, value_at
from importer.report import Note
from intent import Object
from intent.inferenceservice.v1alpha1 import API_VERSION
from intent.inferencetemplate.v1alpha1 import KIND
from intent.variables import variables

Compare = Callable[[Sequence[Object], Sequence[Object]], str]
"""Returns the first difference between what two sets of objects expand to; empty for none."""
_EXPRESSION: Final = re.compile(r"\{\{-?\s*(?P<name>\.[\w.]+)\s*-?\}\}")
_OPENS: Final = "{{"
_PODS: Final = {"template": "leader", "worker": "worker"}
"""The pod templates of a role, with the pods that they are for."""
_OF_ROUTERS: Final = frozenset({"httproute", "gateway"})
"""Fields of a router that a template gives. What decides how requests are routed stays: pods depend on it."""
_BLOCKS: Final = frozenset({"model", "lora", "priority"})
"""Fields of a service that a template gives as a whole."""
_NOTHING: Final = "no field of its bases has a place in a template"


@dataclass(frozen=True, slots=True)
class BaseTemplate:
    """An object of the input that services name as their base."""

    document: int
    metadata: dict[str, Leaf]
    """Name and namespace of the template."""
    reference: Leaf
    """Its name, as the service has it."""


@dataclass(frozen=True, slots=True)
class Flat:
    """What an import made of one service, with its bases merged in."""

    document: int
    objects: tuple[Tree, ...]
    """The InferenceService, and the objects beside it."""
    bases: tuple[BaseTemplate, ...] = ()
    """In the order in which they are merged."""


@dataclass(frozen=True, slots=True)
class Source:
    """The input of one system."""

    raw: Callable[[Origin], Any]
    """Returns a value as it is written, before its expressions are evaluated."""
    variables: Mapping[str, str]
    """Expressions by the variables of templates that have the same value."""


Contents = dict[int, dict[AtomPath, Tree]]
"""The content of the template of each base."""


def keep(
    services: Sequence[Flat], source: Source, same: Compare | None
) -> tuple[list[Tree], tuple[Note, ...]]:
    """Return all objects, with a template for each base where that is the same; and why others have none.

    Without `same`, bases stay merged into their services.
    """
    left = [one for one in services if one.bases] if same else []
    notes: list[Note] = []
    made: dict[int, tuple[Tree, ...]] = {}
    templates: Contents = {}
    while left and same:
        views = {one.document: _View(one, source) for one in left}
        templates = _contents(list(views.values()))
        made = {number: view.without(templates) for number, view in views.items()}
        failed = [
            Note(one.document, f"its bases are merged into it: {why}")
            for one in left
            if (why := _fault(one, made[one.document], templates, same))
        ]
        if not failed:
            break
        notes += failed
        left = [one for one in left if one.document not in {note.document for note in failed}]
    kept = {one.document for one in left}
    used = {base.document: base for one in left for base in one.bases if templates.get(base.document)}
    objects = [_template(base, templates[number]) for number, base in sorted(used.items())]
    for one in services:
        objects += made[one.document] if one.document in kept else one.objects
    return objects, tuple(sorted(notes, key=lambda note: note.document))


def _fault(flat: Flat, made: tuple[Tree, ...], templates: Contents, same: Compare) -> str:
    own = [_template(one, templates[one.document]) for one in flat.bases if templates.get(one.document)]
    return same(list(map(plain, flat.objects)), list(map(plain, (*own, *made)))) if own else _NOTHING


# --- templates ----------------------------------------------------------------------------------------


def _contents(views: "Sequence[_View]") -> Contents:
    """Return the content of the template of each base: what all services that have it have alike."""
    found: Contents = {}
    for number in sorted({base.document for view in views for base in view.flat.bases}):
        of_base = [view for view in views if number in view.offered]
        offered: dict[AtomPath, list[Any]] = {}
        for view in of_base:
            for place, tree in view.offered[number].items():
                offered.setdefault(view.targets[place], []).append(plain(tree))
        alike = {target for target, values in offered.items() if all(one == values[0] for one in values)}
        found[number] = {}
        for view in of_base:
            offers = view.offered[number]
            trees = {target: offers.get(at, view.all[at]) for at, target in view.targets.items()}
            wanted = alike & {view.targets[place] for place in offers}
            found[number] = chosen(trees, wanted) | found[number]
    return found


def _template(base: BaseTemplate, content: Parts) -> Tree:
    pods: dict[tuple[str, str], dict[AtomPath, Tree]] = {}
    rest: dict[AtomPath, Tree] = {}
    for place, tree in content.items():
        if place[0] == "pods":
            pods.setdefault(place[1], {})[place[2:]] = tree
        else:
            rest[place] = tree
    has_workers = any(part == "worker" for _, part in pods)
    entries = [
        {
            "for": Leaf(component),
            **({"part": Leaf(part)} if has_workers else {}),
            "template": built(below),
            **({"args": Leaf("replace")} if any(place[-1] == "args" for place in below) else {}),
        }
        for (component, part), below in pods.items()
    ]
    spec = {**({"pods": entries} if entries else {}), **(built(rest) if rest else {})}
    return {
        "apiVersion": Leaf(API_VERSION),
        "kind": Leaf(KIND),
        "metadata": dict(base.metadata),
        "spec": spec,
    }


# --- one service --------------------------------------------------------------------------------------


class _View:
    """A service by its parts: where each would be in a template, and which base offers it."""

    def __init__(self, flat: Flat, source: Source) -> None:
        self.flat = flat
        self.source = source
        self.spec: Tree = flat.objects[0]["spec"]
        self.all = parts(self.spec)
        self.roles = {value_at(one, "name"): one for one in self.spec[ROLES]}
        self.targets = {place: target for place in self.all if (target := self._target(place))}
        alone = only_names(self.all)
        self.offered = {
            base.document: {
                place: tree
                for place in self.targets
                if not is_name(place) or place in alone
                if (tree := self._offer(place, base.document)) is not None
            }
            for base in flat.bases
        }

    def _target(self, place: AtomPath) -> AtomPath | None:
        """Return the place in the spec of a template; None if templates have no such field."""
        if place[0] != ROLES:
            return place if place[0] in _BLOCKS else None
        if len(place) < 3 or not isinstance(place[1], Item):
            return None
        role, field = self.roles[place[1].values[0]], place[2]
        component = value_at(role, "componentType")
        if component == "router":
            return ("router", *place[2:]) if field in _OF_ROUTERS else None
        if field == "parallelism" and len(self.workloads) == 1:
            return ("parallelism", *place[3:])
        return ("pods", (component, _PODS[field]), *place[3:]) if field in _PODS else None

    @property
    def workloads(self) -> list[Tree]:
        """The roles with engines."""
        return [one for one in self.roles.values() if value_at(one, "componentType") != "router"]

    def _offer(self, place: AtomPath, document: int) -> Tree:
        """Return a part as the template of a base has it; None if it does not come from that base."""
        found = self._given(place)
        if not found or not all(document in self._documents(one) for one in found):
            return None
        values = self._values(place) if self.targets[place][0] == "pods" else {}
        written = {id(one): self._written(one, document, values) for one in found}
        if any(one is None for one in written.values()):
            return None
        return _replaced(self.all[place], written)

    def _documents(self, leaf: Leaf) -> set[int]:
        """Return the documents that have the leaf; none if several made it together."""
        values = [self.source.raw(one) for one in leaf.origins]
        found = {one.document for one in leaf.origins}
        return found if len(found) == 1 or all(_is_same(one, values[0]) for one in values) else set()

    def _written(self, leaf: Leaf, document: int, values: Mapping[str, str]) -> Leaf | None:
        """Return a leaf as a template has it: an expression as a variable of the same value, or None."""
        raw = next(self.source.raw(one) for one in leaf.origins if one.document == document)
        if not isinstance(raw, str) or _OPENS not in raw:
            return None if any(variables(leaf.value)) else leaf
        names = [self.source.variables.get(one["name"], "") for one in _EXPRESSION.finditer(raw)]
        if not all(name in values for name in names) or any(variables(raw)):
            return None
        as_variables = _EXPRESSION.sub(lambda one: f"$({self.source.variables[one['name']]})", raw)
        evaluated = _EXPRESSION.sub(lambda one: values[self.source.variables[one["name"]]], raw)
        return leaf.having(as_variables) if evaluated == leaf.value else None

    def _values(self, place: AtomPath) -> dict[str, str]:
        """Return the values of variables that the service itself gives to a role."""
        service, role = self.flat.objects[0], self.roles[place[1].values[0]]
        known = {
            "service.name": value_at(service, "metadata", "name"),
            "service.namespace": value_at(service, "metadata", "namespace"),
            "model.name": value_at(service, "spec", "model", "name"),
            "parallelism.tensor": value_at(role, "parallelism", "tensor"),
        }
        return {name: str(value) for name, value in known.items() if value is not None}

    def without(self, templates: Contents) -> tuple[Tree, ...]:
        """Return the objects of the service with its own fields only, and the names of its templates."""
        taken = {
            place
            for number, offered in self.offered.items()
            for place in offered
            if self.targets[place] in templates[number]
        }
        left = {place for place in self.all if place not in taken or self._is_own(place)}
        spec = built(chosen(self.all, {one for one in left if not is_name(one)} | (left & self._alone())))
        for name, role in self.roles.items():
            now = next(one for one in spec[ROLES] if value_at(one, "name") == name)
            now.update({field: Leaf({}) for field in _PODS if field in role and field not in now})
        refs = [one.reference for one in self.flat.bases if templates.get(one.document)]
        first = {**self.flat.objects[0], "spec": {"baseRefs": refs, **spec} if refs else spec}
        return first, *self.flat.objects[1:]

    def _alone(self) -> frozenset[AtomPath]:
        return only_names(self.all)

    def _is_own(self, place: AtomPath) -> bool:
        """Return whether the service has a part too, with the same value."""
        return all(self.flat.document in self._documents(one) for one in self._given(place))

    def _given(self, place: AtomPath) -> list[Leaf]:
        """Return the leaves of a part, or of the block that it is of, that come from the input."""
        tree = self.spec[place[0]] if place[0] in _BLOCKS else self.all[place]
        return [one for _, one in leaves(tree) if isinstance(one, Leaf) and one.origins]


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _replaced(tree: Tree, leaves_by_id: Mapping[int, Leaf | None]) -> Tree:
    if isinstance(tree, dict):
        return {key: _replaced(one, leaves_by_id) for key, one in tree.items()}
    if isinstance(tree, list):
        return [_replaced(one, leaves_by_id) for one in tree]
    return leaves_by_id.get(id(tree), tree)
