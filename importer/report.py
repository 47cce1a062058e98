"""The report of an import: what became of each leaf of the input, exactly once.

A leaf that stands in the output is kept or translated, as its tree shows. All others need a rule that says
why they do not: the longest rule that covers the leaf counts. A leaf without any rule is lost.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from importer.leaves import Leaf, LeafPath, Origin, Tree, leaves, plain, written
from importer.stored import BY_SERVER
from intent import Object
from intent.errors import FieldError, counted, printable
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
UNUSED: Final = "FI968"
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
    to: tuple[str, ...] = ()
    """Where it is in the output, if it is kept or translated."""
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


def default(reason: str, *, note: bool = False) -> Outcome:
    """Return the outcome of what FusionInfer does by itself."""
    return Outcome("default", reason=reason, note=note)


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
    only: bool = False
    """Whether it is for the path alone: for an empty map there, and for no field in it."""

    def covers(self, path: LeafPath) -> bool:
        """Return whether a leaf is at or below the path."""
        if len(path) < len(self.path) or (self.only and len(path) > len(self.path)):
            return False
        for step, one in zip(self.path, path, strict=False):  # noqa: SIM110 - `all` takes three times as long
            if step not in (one, ANY):
                return False
        return True


def rule(path: str, outcome: Outcome) -> OutcomeRule:
    """Return a rule for a path such as `spec.containers.*.ports`; keys with a dot need `OutcomeRule`."""
    return OutcomeRule(tuple(path.split(".")), outcome)


def empty(path: str, outcome: Outcome) -> OutcomeRule:
    """Return a rule for an empty map or list at a path, and for nothing below."""
    return OutcomeRule(tuple(path.split(".")), outcome, only=True)


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
class ByHand:
    """A launch that stays as its author wrote it."""

    document: int
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The output of an importer: trees of objects, and rules for the leaves that are not in them."""

    objects: tuple[Tree, ...] = ()
    rules: Mapping[int, tuple[OutcomeRule, ...]] = field(default_factory=dict)
    """By the index of the object in the input, beside `OF_SERVER`."""
    problems: tuple[Problem, ...] = ()
    by_hand: tuple[ByHand, ...] = ()
    skipped: tuple[int, ...] = ()
    """The objects of the input that are not for a cluster, such as a kustomization."""


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
    by_hand: tuple[ByHand, ...] = ()
    skipped: tuple[int, ...] = ()
    failed: frozenset[int] = frozenset()
    """The objects that cannot be imported."""

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
    return ImportReport(tuple(lines), imported.by_hand, imported.skipped, frozenset(failed))


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
        if longest and longest.partly:
            return replace(longest, to=placed[origin].to)
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
    """Yield the lines of a report; `places` has file and number of each object.

    First what is lost, then the launches that stay by hand, then what an operator has to know, at the end the
    numbers. Fields of an object that share a reason are one line.
    """
    where = [f"{described(one)}, {places[number]}" for number, one in enumerate(given)]
    lost, told = _by_reason(found, _is_lost), _by_reason(found, _is_told)
    hand: dict[_Reason, list[str]] = {}
    for one in found.by_hand:
        reason = _Reason(one.document, f"the launch stays: {one.reason}", KEPT_LAUNCH)
        hand.setdefault(reason, []).append(one.path)
    for title, rows in (("lost", lost), ("by hand", hand), ("note", told)):
        for reason, paths in rows.items():
            yield printable(f"{title:8} {where[reason.document]}: {_paths(paths)}: {reason}")
    for number in found.skipped:
        yield printable(f"{'skipped':8} {where[number]}: it is for kustomize, and not for a cluster")
    if unused := dict.fromkeys(line.document for line in found.lines if line.outcome.code == UNUSED):
        names = ", ".join(described(given[number]) for number in unused)
        yield printable(f"{'unused':8} {names}: no service in the files refers to it")
    failed = f", {len(found.failed)} not imported" if found.failed else ""
    yield f"{counted(len(given), 'object')}: {len(lost)} lost, {len(found.by_hand)} by hand{failed}"


def _is_lost(outcome: Outcome) -> bool:
    return outcome.is_lost


def _is_told(outcome: Outcome) -> bool:
    """Return whether an operator has to know an outcome that is no loss and no launch."""
    is_changed = outcome.kind in {"kept", "translated"} and bool(outcome.reason)
    return (outcome.note or is_changed) and outcome.code != KEPT_LAUNCH


def _by_reason(found: ImportReport, wanted: Callable[[Outcome], bool]) -> "dict[_Reason, list[str]]":
    """Return the paths of some fields by their reasons; of what is not imported, the error says it."""
    paths: dict[_Reason, list[str]] = {}
    for line in found.lines:
        if line.document not in found.failed and wanted(line.outcome):
            reason = _Reason(line.document, line.outcome.reason, line.outcome.code)
            paths.setdefault(reason, []).append(line.path)
    return paths


class _Reason(NamedTuple):
    """Why fields of an object are what they are."""

    document: int
    reason: str
    code: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.code})" if self.code else self.reason


def _paths(paths: Sequence[str]) -> str:
    """Return the first path, and how many there are beside it."""
    return (paths[0] or "the object") + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")


def as_data(found: ImportReport, given: Sequence[Object], places: Sequence[str]) -> Object:
    """Return a report as JSON, without the values of Secrets.

    Fields may be added; none is removed or changes its meaning.
    """
    return {
        "fields": [
            {
                "object": described(given[line.document]),
                "file": places[line.document],
                "field": line.path,
                "value": None if given[line.document].get("kind") == "Secret" else line.value,
                "outcome": line.outcome.kind,
                "to": list(line.outcome.to),
                "lost": line.outcome.is_lost,
                "code": line.outcome.code,
                "reason": line.outcome.reason,
            }
            for line in found.lines
        ],
        "byHand": [
            {
                "object": described(given[one.document]),
                "file": places[one.document],
                "field": one.path,
                "reason": one.reason,
            }
            for one in found.by_hand
        ],
        "skipped": [places[number] for number in found.skipped],
        "summary": {**found.counts, "lost": len(found.lost), "byHand": len(found.by_hand)},
    }
