"""The report of an import: what became of each leaf of the input, exactly once.

A leaf that stands in the output is kept or translated, as its tree shows. All others need a rule that says
why they do not: the longest rule that covers the leaf counts. A leaf without any rule is lost.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from importer.leaves import Leaf, LeafPath, Origin, Tree, leaves, plain, written
from importer.stored import BY_SERVER
from intent import Object
from intent.errors import FieldError, printable
from intent.shapes import mapping, metadata, text

OutcomeKind = Literal["kept", "translated", "default", "dropped"]
KINDS: Final[Mapping[OutcomeKind, str]] = {
    "kept": "the same field of the output has the same value",
    "translated": "another field of the output has the value, or a value that was made from it",
    "default": "FusionInfer does the same by itself",
    "dropped": "the output does not have it, for the reason given",
}
"""The outcomes of a leaf, with their meaning."""
NO_COUNTERPART: Final = "FI960"
IGNORED: Final = "FI961"
OVERRIDDEN: Final = "FI962"
STORED: Final = "FI963"
UNKNOWN: Final = "FI964"
MISSING: Final = "FI965"
EXPRESSION: Final = "FI966"
UNREADABLE: Final = "FI967"
NOT_LOST: Final = frozenset({IGNORED, OVERRIDDEN, STORED})
"""The codes of leaves that the other system does not act upon either."""
ANY: Final = "*"
"""A step of a rule that stands for any key or index."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one leaf."""

    kind: OutcomeKind
    to: tuple[str, ...] = ()
    """Where it is in the output, if it is kept or translated."""
    reason: str = ""
    code: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether the other system acts on the leaf, and FusionInfer will not."""
        return self.kind == "dropped" and self.code not in NOT_LOST


def default(reason: str) -> Outcome:
    """Return the outcome of what FusionInfer does by itself."""
    return Outcome("default", reason=reason)


def dropped(code: str, reason: str) -> Outcome:
    """Return the outcome of what the output does not have."""
    return Outcome("dropped", reason=reason, code=code)


@dataclass(frozen=True, slots=True)
class OutcomeRule:
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
        for step, one in zip(self.path, path, strict=False):  # noqa: SIM110 - `all` takes three times as long
            if step not in (one, ANY):
                return False
        return True


def rule(path: str, outcome: Outcome) -> OutcomeRule:
    """Return a rule for a path such as `spec.containers.*.ports`; keys with a dot need `OutcomeRule`."""
    return OutcomeRule(tuple(path.split(".")), outcome)


OF_SERVER: Final = tuple(
    OutcomeRule(path, dropped(STORED, "it belongs to the object in the cluster, and to no manifest"))
    for path in BY_SERVER
)
"""They hold for the objects of every system."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an object of the input cannot be imported. Its leaves are all dropped."""

    document: int
    error: FieldError


class UntranslatableError(Exception):
    """An object of the input cannot be imported."""

    def __init__(self, path: str, message: str, code: str = UNREADABLE) -> None:
        super().__init__(message)
        self.path = path
        self.code = code


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader should know of an object of the input as a whole."""

    document: int
    text: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The output of an importer: trees of objects, and rules for the leaves that are not in them."""

    objects: tuple[Tree, ...] = ()
    rules: Mapping[int, tuple[OutcomeRule, ...]] = field(default_factory=dict)
    """By the index of the object in the input, beside `OF_SERVER`."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One leaf of the input, and its outcome."""

    document: int
    path: str
    value: Any
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ImportReport:
    """All leaves of the input, in their order."""

    lines: tuple[Line, ...]
    notes: tuple[Note, ...] = ()

    @property
    def lost(self) -> tuple[Line, ...]:
        """The leaves on which the other system acts, and FusionInfer will not."""
        return tuple(line for line in self.lines if line.outcome.is_lost)

    @property
    def counts(self) -> dict[str, int]:
        """The number of leaves by outcome."""
        found = Counter(line.outcome.kind for line in self.lines)
        return {kind: found[kind] for kind in KINDS}


# --- the outcome of each leaf -------------------------------------------------------------------------


def report(given: Sequence[Object], imported: Imported) -> ImportReport:
    """Return the outcome of each leaf of the input."""
    found = _placed(given, imported.objects)
    failed = {one.document: one.error for one in imported.problems}
    rules = [
        sorted((*imported.rules.get(number, ()), *OF_SERVER), key=lambda one: -len(one.path))
        for number in range(len(given))
    ]
    lines = (
        Line(number, written(path), value, _outcome(Origin(number, path), found, failed, rules[number]))
        for number, one in enumerate(given)
        for path, value in leaves(one)
    )
    return ImportReport(tuple(lines), imported.notes)


def _placed(given: Sequence[Object], objects: Iterable[Tree]) -> dict[Origin, Outcome]:
    """Return the outcome of each leaf that stands in the output: kept if one place is its own."""
    places: dict[Origin, list[str]] = {}
    same: set[Origin] = set()
    for tree in objects:
        name = described(plain(tree))
        for path, leaf in leaves(tree):
            for origin in leaf.origins if isinstance(leaf, Leaf) else ():
                places.setdefault(origin, []).append(f"{name}: {written(path)}")
                if origin.path == path and _is_at(given[origin.document], path, leaf.value):
                    same.add(origin)
    return {
        origin: Outcome("kept" if origin in same else "translated", tuple(found))
        for origin, found in places.items()
    }


def _is_at(obj: Any, path: LeafPath, value: Any) -> bool:
    """Return whether an object has a value at an existing path."""
    for step in path:
        obj = obj[step]
    return type(obj) is type(value) and bool(obj == value)


def _outcome(
    origin: Origin,
    placed: Mapping[Origin, Outcome],
    failed: Mapping[int, FieldError],
    longest_first: Iterable[OutcomeRule],
) -> Outcome:
    longest = next((one.outcome for one in longest_first if one.covers(origin.path)), None)
    if origin in placed:
        is_noted = longest is not None and longest.kind == placed[origin].kind
        return replace(longest, to=placed[origin].to) if longest and is_noted else placed[origin]
    if longest and longest.kind not in {"kept", "translated"}:
        return longest
    if origin.document in failed:
        return dropped(failed[origin.document].code, "the object cannot be imported")
    return dropped(UNKNOWN, "no rule of the import knows the field")


# --- text and JSON ------------------------------------------------------------------------------------


def described(obj: Any) -> str:
    """Return kind, namespace and name of an object: `LLMInferenceService llm/qwen`."""
    names = [text(metadata(obj).get(key)) for key in ("namespace", "name")]
    parts = (text(mapping(obj).get("kind")) or "object", "/".join(one for one in names if one))
    return printable(" ".join(one for one in parts if one))


def as_text(found: ImportReport, given: Sequence[Object], places: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a report; `places` has file and number of each object."""
    for number, one in enumerate(given):
        yield f"{described(one)}, {places[number]}:"
        yield from (
            f"  {'note':10} {printable(note.text)}" for note in found.notes if note.document == number
        )
        yield from (f"  {_shown(line)}" for line in found.lines if line.document == number)
    counts = ", ".join(f"{count} {kind}" for kind, count in found.counts.items())
    yield f"{len(found.lines)} fields: {counts}; {len(found.lost)} lost"


def _shown(line: Line) -> str:
    outcome = line.outcome
    where = f" -> {'; '.join(outcome.to)}" if outcome.kind == "translated" else ""
    why = f": {outcome.reason}" if outcome.reason else ""
    code = f" ({outcome.code})" if outcome.code else ""
    kind = "lost" if outcome.is_lost else outcome.kind
    return printable(f"{kind:10} {line.path or 'the object'}{where}{why}{code}")


def as_data(found: ImportReport, given: Sequence[Object], places: Sequence[str]) -> Object:
    """Return a report as JSON. Fields may be added; none is removed or changes its meaning."""
    return {
        "fields": [
            {
                "object": described(given[line.document]),
                "file": places[line.document],
                "field": line.path,
                "value": line.value,
                "outcome": line.outcome.kind,
                "to": list(line.outcome.to),
                "lost": line.outcome.is_lost,
                "code": line.outcome.code,
                "reason": line.outcome.reason,
            }
            for line in found.lines
        ],
        "notes": [
            {"object": described(given[one.document]), "file": places[one.document], "message": one.text}
            for one in found.notes
        ],
        "summary": {**found.counts, "lost": len(found.lost)},
    }
