"""The report of an import: what became of each leaf of the input, exactly once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from importer.account import (
    KEPT_LAUNCH,
    KINDS,
    NO_COUNTERPART,
    UNKNOWN,
    UNUSED,
    Account,
    ByHand,
    Outcome,
    OutcomeRule,
    default,
    dropped,
)
from importer.leaves import Leaf, LeafPath, Origin, Tree, leaves, plain, written
from importer.stored import OF_SERVER
from intent import Object
from intent.errors import counted, printable
from intent.shapes import mapping, metadata, text


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
        kinds = Counter(line.outcome.kind for line in self.lines)
        return {kind: kinds[kind] for kind in KINDS}


# --- the outcome of each leaf -------------------------------------------------------------------------


def report(objects: Sequence[Object], account: Account) -> ImportReport:
    """Return the outcome of each leaf of the input."""
    placed = _placed(objects, account.objects)
    failed = {problem.document: problem.error.code for problem in account.problems}
    lines: list[Line] = []
    for number, obj in enumerate(objects):
        rules = sorted((*account.rules.get(number, ()), *OF_SERVER), key=lambda each: -len(each.path))
        document = _Document(number, placed, rules, failed.get(number, ""))
        for path, value in leaves(obj):
            parts = account.parts.get(Origin(number, path))
            outcome = document.outcome(path, value) if parts is None else document.of_text(path, parts)
            lines.append(Line(number, written(path), value, outcome))
    by_hand, skipped = tuple(account.by_hand), tuple(account.skipped)
    return ImportReport(tuple(lines), by_hand, skipped, frozenset(failed))


@dataclass(frozen=True, slots=True)
class _Document:
    """What is known of the leaves of an object of the input."""

    number: int
    placed: Mapping[Origin, Outcome]
    """The leaves that stand in the output."""
    rules: Sequence[OutcomeRule]
    """The longest first."""
    failure: str
    """The code of the reason why the object cannot be imported; empty if it can."""

    def outcome(self, path: LeafPath, value: Any) -> Outcome:
        """Return the outcome of a leaf."""
        stands = self.placed.get(Origin(self.number, path))
        ruled = next((each.outcome for each in self.rules if each.covers(path, value)), None)
        if stands:
            is_told = ruled is not None and (ruled.partly or ruled.kind == stands.kind)
            return replace(ruled, to=stands.to) if ruled and is_told else stands
        if ruled and ruled.kind not in {"kept", "translated"}:
            return ruled
        if self.failure:
            return dropped(self.failure, "the object cannot be imported")
        return dropped(UNKNOWN, "no rule of the import knows the field")

    def of_text(self, path: LeafPath, parts: Iterable[LeafPath]) -> Outcome:
        """Return the outcome of a text that has an object with these leaves: lost, if one of them is."""
        outcomes = {part: self.outcome(part, ...) for part in parts}
        if gone := {part: each for part, each in outcomes.items() if each.is_lost}:
            names = ", ".join(written(part[len(path) :]) for part in [*gone][:_SHOWN])
            more = f" and {len(gone) - _SHOWN} more" if len(gone) > _SHOWN else ""
            reason = next(iter(gone.values())).reason
            return dropped(NO_COUNTERPART, f"of its object, {names}{more} are lost: {reason}")
        if to := tuple(place for each in outcomes.values() for place in each.to):
            return Outcome("translated", to)
        return next(iter(outcomes.values()), default("the object adds nothing"))


_SHOWN: Final = 5
"""How many lost parts of a text are named."""


def _placed(objects: Sequence[Object], output: Iterable[Tree]) -> dict[Origin, Outcome]:
    """Return the outcome of each leaf that stands in the output: kept if one place is its own."""
    places: dict[Origin, list[str]] = {}
    same: set[Origin] = set()
    for tree in output:
        name = described(plain(tree))
        for path, leaf in leaves(tree):
            for origin in leaf.origins if isinstance(leaf, Leaf) else ():
                places.setdefault(origin, []).append(f"{name}: {written(path)}")
                if origin.path == path and _is_at(objects[origin.document], path, leaf.value):
                    same.add(origin)
    return {
        origin: Outcome("kept" if origin in same else "translated", tuple(where))
        for origin, where in places.items()
    }


def _is_at(obj: Any, path: LeafPath, value: Any) -> bool:
    """Return whether an object has a value at an existing path."""
    for step in path:
        obj = obj[step]
    return type(obj) is type(value) and bool(obj == value)


# --- text and JSON ------------------------------------------------------------------------------------


def described(obj: Any) -> str:
    """Return kind, namespace and name of an object: `LLMInferenceService llm/qwen`."""
    names = [text(metadata(obj).get(key)) for key in ("namespace", "name")]
    parts = (text(mapping(obj).get("kind")) or "object", "/".join(filter(None, names)))
    return printable(" ".join(filter(None, parts)))


def as_text(result: ImportReport, objects: Sequence[Object], places: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a report; `places` has file and number of each object.

    First what is lost, then the launches that stay by hand, then what an operator has to know, at the end the
    numbers. Fields of an object that share a reason are one line. Of what is not imported, the error says it.
    """
    where = [f"{described(obj)}, {places[number]}" for number, obj in enumerate(objects)]
    lines = [line for line in result.lines if line.document not in result.failed]
    lost = _by_reason(line for line in lines if line.outcome.is_lost)
    told = _by_reason(line for line in lines if line.outcome.is_told)
    hand: dict[_Reason, list[str]] = {}
    for launch in result.by_hand:
        reason = _Reason(launch.document, f"the launch stays: {launch.reason}", KEPT_LAUNCH)
        hand.setdefault(reason, []).append(launch.path)
    for title, rows in (("lost", lost), ("by hand", hand), ("note", told)):
        for reason, paths in rows.items():
            yield printable(f"{title:8} {where[reason.document]}: {_paths(paths)}: {reason}")
    for number in result.skipped:
        yield printable(f"{'skipped':8} {where[number]}: it is for kustomize, and not for a cluster")
    if unused := dict.fromkeys(line.document for line in result.lines if line.outcome.code == UNUSED):
        names = ", ".join(described(objects[number]) for number in unused)
        yield printable(f"{'unused':8} {names}: no service in the files refers to it")
    failed = f", {len(result.failed)} not imported" if result.failed else ""
    yield f"{counted(len(objects), 'object')}: {len(lost)} lost, {len(result.by_hand)} by hand{failed}"


def _by_reason(lines: Iterable[Line]) -> "dict[_Reason, list[str]]":
    """Return the paths of fields by their reasons."""
    paths: dict[_Reason, list[str]] = {}
    for line in lines:
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


def as_data(result: ImportReport, objects: Sequence[Object], places: Sequence[str]) -> Object:
    """Return a report as JSON, without the values of Secrets.

    Fields may be added; none is removed or changes its meaning.
    """

    def place(document: int, path: str) -> Object:
        return {"object": described(objects[document]), "file": places[document], "field": path}

    return {
        "fields": [
            {
                **place(line.document, line.path),
                "value": None if objects[line.document].get("kind") == "Secret" else line.value,
                "outcome": line.outcome.kind,
                "to": list(line.outcome.to),
                "lost": line.outcome.is_lost,
                "code": line.outcome.code,
                "reason": line.outcome.reason,
            }
            for line in result.lines
        ],
        "byHand": [{**place(each.document, each.path), "reason": each.reason} for each in result.by_hand],
        "skipped": [places[number] for number in result.skipped],
        "summary": {**result.counts, "lost": len(result.lost), "byHand": len(result.by_hand)},
    }
