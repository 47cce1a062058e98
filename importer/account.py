"""The account of an import: its output, and what became of the leaves of the input that are not in it.

A leaf that stands in the output is kept or translated, as its tree shows. All others need a rule that says
why they do not: of those that cover the leaf, the one with the longest path counts. A leaf without any rule
is lost.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, NamedTuple, get_args

from importer.leaves import Leaf, LeafPath, Origin, Tree, at, fields_at, items_at, origins, put, value_at
from intent.annotations import DEFAULT_ROLE, SKIP
from intent.container import ROUTING_PROXY
from intent.errors import FieldError
from intent.shapes import text

OutcomeKind = Literal[
    "kept",  # the same field of the output has the same value
    "translated",  # another field of the output has the value, or a value that was made from it
    "default",  # FusionInfer does the same by itself
    "dropped",  # the output does not have it, for the reason given
]
KINDS: Final[tuple[OutcomeKind, ...]] = get_args(OutcomeKind)
UNUSED: Final = "FI968"
MISSING: Final = "FI965"
UNREADABLE: Final = "FI967"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one leaf."""

    kind: OutcomeKind
    reason: str = ""
    code: str = ""
    is_lost: bool = False
    """Whether the other system acts on the leaf, and FusionInfer will not."""
    note: bool = False
    """Whether an operator has to know it, although nothing is lost."""
    partly: bool = False
    """Whether the output has the rest of the leaf, such as other words of a script."""

    @property
    def is_told(self) -> bool:
        """Whether an operator has to know it, though it is not lost."""
        return self.note or (self.kind in {"kept", "translated"} and bool(self.reason))


default: Final = partial(Outcome, "default")
"""What FusionInfer does by itself."""
kept: Final = partial(Outcome, "kept")
"""A field that acts otherwise here, or that stays by hand."""
lost: Final = partial(Outcome, "dropped", code="FI960", is_lost=True)
ignored: Final = partial(Outcome, "dropped", code="FI961")
"""What the other system does not act upon."""
overridden: Final = partial(Outcome, "dropped", code="FI962")
stored: Final = partial(Outcome, "dropped", code="FI963")
unknown: Final = partial(Outcome, "dropped", code="FI964", is_lost=True)
unused: Final = partial(Outcome, "dropped", code=UNUSED)
"""Whole objects without an effect."""
told: Final = partial(Outcome, "translated")
"""What acts otherwise here."""

Rules = Mapping[LeafPath, Outcome]
"""The outcomes of the leaves at and below paths that do not stand in the output.

For those that do, an outcome of the same kind adds its reason.
"""


def rules(outcomes: Mapping[str, Outcome], *above: str) -> Rules:
    """Return rules by their paths below another one: `model.lora`."""
    return {(*above, *path.split(".")): outcome for path, outcome in outcomes.items()}


class Line(NamedTuple):
    """What became of one leaf of the input, or of a launch that stays by hand."""

    document: int
    path: str
    outcome: Outcome


class UntranslatableError(Exception):
    """An object of the input cannot be imported."""

    def __init__(self, path: str, message: str, code: str = UNREADABLE) -> None:
        super().__init__(message)
        self.error = FieldError(path, None, message, code)


@dataclass(slots=True)
class Account:
    """What the importers make of the input; documents are the indexes of its objects."""

    objects: list[Tree] = field(default_factory=list)
    """The output."""
    rules: defaultdict[int, dict[LeafPath, Outcome]] = field(default_factory=lambda: defaultdict(dict))
    """By the document. Of two for a path, the first one counts."""
    problems: dict[int, FieldError] = field(default_factory=dict)
    """Why objects cannot be imported. All their leaves are dropped."""
    by_hand: list[Line] = field(default_factory=list)
    """The launches that stay as their authors wrote them."""

    def say(self, document: int, rules: Rules) -> None:
        """Record rules for an object."""
        self.rules[document] = {**rules, **self.rules[document]}

    def leave(self, tree: Tree, outcome: Outcome) -> None:
        """Record the outcome of all leaves of a part that is left out of the output."""
        for document, path in origins(tree):
            self.rules[document].setdefault(path, outcome)

    def without(self, tree: Tree, path: LeafPath, outcome: Outcome) -> Tree:
        """Return a tree without a field, and record the outcome of what it has there, if anything."""
        self.leave(at(tree, *path), outcome)
        above = fields_at(tree, *path[:-1])
        others = {key: value for key, value in above.items() if key != path[-1]}
        return put(tree, path[:-1], others) if path[-1] in above else tree

    def stays(self, document: int, path: str, reason: str) -> None:
        """Record a launch that stays by hand."""
        self.by_hand.append(Line(document, path, kept(f"the launch stays: {reason}", "FI975")))

    def rule(self, leaf: Origin) -> Outcome | None:
        """Return the outcome of the longest path of a rule at or above a leaf; None if there is no rule."""
        known, path = self.rules[leaf.document], leaf.path
        prefixes = (path[:end] for end in range(len(path), -1, -1))
        return next((known[prefix] for prefix in prefixes if prefix in known), None)


COMPONENT_TYPES: Final[Mapping[str, str]] = {role: component for component, role in DEFAULT_ROLE.items()}
"""The component types of roles by the names that other systems, and ours by default, give them."""


def take(trees: dict[int, Tree], group: str, *kinds: str) -> dict[int, Tree]:
    """Remove the objects of some kinds of a group, of any version, from others; return them."""
    numbers = [
        number
        for number, tree in trees.items()
        if text(value_at(tree, "apiVersion")).rpartition("/")[0] == group and value_at(tree, "kind") in kinds
    ]
    return {number: trees.pop(number) for number in numbers}


def own_sidecar(pod: Tree) -> dict[str, Tree]:
    """Return the annotation of a pod that has the routing sidecar: FusionInfer adds none then."""
    names = [value_at(container, "name") for container in items_at(pod, "initContainers")]
    return {SKIP: Leaf("sidecar")} if ROUTING_PROXY in names else {}


ObjectKey = tuple[str, str]
"""Namespace and name of an object; empty where it has none."""


def key_of(tree: Tree) -> ObjectKey:
    """Return the key by which others refer to an object."""
    return text(value_at(tree, "metadata", "namespace")), text(value_at(tree, "metadata", "name"))
