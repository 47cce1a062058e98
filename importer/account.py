"""The account of an import: its output, and what became of the leaves of the input that are not in it.

A leaf that stands in the output is kept or translated, as its tree shows. All others need a rule that says
why they do not: the longest rule that covers the leaf counts. A leaf without any rule is lost.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, get_args

from importer.leaves import LeafPath, Tree, origins, value_at
from intent.errors import FieldError
from intent.names import is_dns_1035_label

OutcomeKind = Literal[
    "kept",  # the same field of the output has the same value
    "translated",  # another field of the output has the value, or a value that was made from it
    "default",  # FusionInfer does the same by itself
    "dropped",  # the output does not have it, for the reason given
]
KINDS: Final[tuple[OutcomeKind, ...]] = get_args(OutcomeKind)
NO_COUNTERPART: Final = "FI960"
IGNORED: Final = "FI961"
UNUSED: Final = "FI968"
"""The code of whole objects without an effect."""
OVERRIDDEN: Final = "FI962"
STORED: Final = "FI963"
UNKNOWN: Final = "FI964"
MISSING: Final = "FI965"
EXPRESSION: Final = "FI966"
UNREADABLE: Final = "FI967"
KEPT_LAUNCH: Final = "FI975"
NOT_LOST: Final = frozenset({IGNORED, OVERRIDDEN, STORED, UNUSED})
"""The codes of leaves that the other system does not act upon either."""
ANY: Final = "*"
"""A step of a rule that stands for any key or index."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one leaf."""

    kind: OutcomeKind
    reason: str = ""
    code: str = ""
    note: bool = False
    """Whether an operator has to know it, although nothing is lost."""
    partly: bool = False
    """Whether the output has the rest of the leaf, such as other words of a script."""

    @property
    def is_lost(self) -> bool:
        """Whether the other system acts on the leaf, and FusionInfer will not."""
        return self.kind == "dropped" and self.code not in NOT_LOST

    @property
    def is_told(self) -> bool:
        """Whether an operator has to know it, though it is neither lost nor a launch that stays."""
        is_changed = self.kind in {"kept", "translated"} and bool(self.reason)
        return (self.note or is_changed) and self.code != KEPT_LAUNCH


def default(reason: str, *, note: bool = False) -> Outcome:
    """Return the outcome of what FusionInfer does by itself."""
    return Outcome("default", reason=reason, note=note)


def dropped(code: str, reason: str, *, note: bool = False) -> Outcome:
    """Return the outcome of what the output does not have."""
    return Outcome("dropped", reason=reason, code=code, note=note)


def lost(reason: str, *, partly: bool = False) -> Outcome:
    """Return the outcome of what has no counterpart; `partly`: the output has the rest of the leaf."""
    return Outcome("dropped", reason, NO_COUNTERPART, partly=partly)


def ignored(reason: str, *, note: bool = False) -> Outcome:
    """Return the outcome of what the other system does not act upon."""
    return dropped(IGNORED, reason, note=note)


def kept(reason: str, code: str = "") -> Outcome:
    """Return the outcome of a field that acts otherwise here, or that stays by hand."""
    return Outcome("kept", reason=reason, code=code)


class OutcomeRule(NamedTuple):
    """The outcome of the leaves at and below a path that do not stand in the output.

    For those that do, an outcome of the same kind adds its reason.
    """

    path: LeafPath
    """`*` is any key or index."""
    outcome: Outcome

    def covers(self, path: LeafPath) -> bool:
        """Return whether a leaf is at or below the path."""
        if len(path) < len(self.path):
            return False
        for step, known in zip(self.path, path, strict=False):  # noqa: SIM110 - `all` takes three times as long
            if step not in (known, ANY):
                return False
        return True


def rule(path: str, outcome: Outcome) -> OutcomeRule:
    """Return a rule for a path such as `spec.containers.*.ports`; keys with a dot need `OutcomeRule`."""
    return OutcomeRule(tuple(path.split(".")), outcome)


class Line(NamedTuple):
    """What became of one leaf of the input, or of a launch that stays by hand."""

    document: int
    path: str
    outcome: Outcome


class Problem(NamedTuple):
    """Why an object of the input cannot be imported. Its leaves are all dropped."""

    document: int
    error: FieldError


class UntranslatableError(Exception):
    """An object of the input cannot be imported."""

    def __init__(self, path: str, message: str, code: str = UNREADABLE, value: Any = None) -> None:
        super().__init__(message)
        self.error = FieldError(path, value, message, code)


@dataclass(slots=True)
class Account:
    """What the importers make of the input; documents are the indexes of its objects."""

    objects: list[Tree] = field(default_factory=list)
    """The output."""
    rules: defaultdict[int, list[OutcomeRule]] = field(default_factory=lambda: defaultdict(list))
    """By the document."""
    problems: list[Problem] = field(default_factory=list)
    by_hand: list[Line] = field(default_factory=list)
    """The launches that stay as their authors wrote them."""

    def say(self, document: int, *rules: OutcomeRule) -> None:
        """Record rules for an object."""
        self.rules[document].extend(rules)

    def leave(self, tree: Tree, outcome: Outcome) -> None:
        """Record the outcome of all leaves of a part that is left out of the output."""
        for document, path in origins(tree):
            self.say(document, OutcomeRule(path, outcome))

    def stays(self, document: int, path: str, reason: str) -> None:
        """Record a launch that stays by hand."""
        self.by_hand.append(Line(document, path, kept(f"the launch stays: {reason}", KEPT_LAUNCH)))

    @contextmanager
    def importing(self, document: int) -> Iterator[None]:
        """Record why an object cannot be imported, if the block says so."""
        try:
            yield
        except UntranslatableError as problem:
            self.problems.append(Problem(document, problem.error))


def service_name(tree: Tree) -> str:
    """Return the name of an object, by which its service is called too.

    Raises:
        UntranslatableError: it cannot name a service.
    """
    name = value_at(tree, "metadata", "name")
    if not isinstance(name, str) or not is_dns_1035_label(name):
        message = "must be a DNS label that begins with a letter: it names the service"
        raise UntranslatableError("metadata.name", message, value=name)
    return name
