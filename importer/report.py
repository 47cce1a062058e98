"""The report of an import: what became of each leaf of the input, exactly once."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from importer.account import (
    KINDS,
    UNKNOWN,
    UNUSED,
    Account,
    Line,
    Outcome,
    OutcomeKind,
    OutcomeRule,
    default,
    dropped,
)
from importer.leaves import Leaf, LeafPath, Origin, Tree, leaves, written
from intent import Object
from intent.errors import counted, printable
from intent.shapes import mapping, metadata, text


class ImportReport(NamedTuple):
    """All leaves of the input, in their order."""

    lines: tuple[Line, ...]
    by_hand: tuple[Line, ...]
    failed: frozenset[int]
    """The objects that cannot be imported."""

    @property
    def lost(self) -> tuple[Line, ...]:
        """The leaves on which the other system acts, and FusionInfer will not."""
        return tuple(line for line in self.lines if line.outcome.is_lost)


# --- the outcome of each leaf -------------------------------------------------------------------------


def report(objects: Sequence[Object], account: Account) -> ImportReport:
    """Return the outcome of each leaf of the input."""
    placed = _placed(account.objects)
    failed = {problem.document: problem.error.code for problem in account.problems}
    lines: list[Line] = []
    for number, obj in enumerate(objects):
        rules = sorted(account.rules.get(number, ()), key=lambda each: -len(each.path))
        document = _Document(number, placed, rules, failed.get(number, ""))
        for path, value in leaves(obj):
            lines.append(Line(number, written(path), document.outcome(path, value)))
    return ImportReport(tuple(lines), tuple(account.by_hand), frozenset(failed))


class _Document(NamedTuple):
    """What is known of the leaves of an object of the input."""

    number: int
    placed: Mapping[Origin, list[tuple[LeafPath, Any]]]
    """Where a leaf stands in the output, with its value there."""
    rules: Sequence[OutcomeRule]
    """The longest first."""
    failure: str
    """The code of the reason why the object cannot be imported; empty if it can."""

    def outcome(self, path: LeafPath, value: Any) -> Outcome:
        """Return the outcome of a leaf: kept, if it stands at its own place of the output too."""
        if self.failure:
            return dropped(self.failure, "the object cannot be imported")
        ruled = next((each.outcome for each in self.rules if each.covers(path)), None)
        if places := self.placed.get(Origin(self.number, path)):
            kind: OutcomeKind = "kept" if (path, value) in places else "translated"
            return ruled if ruled and (ruled.partly or ruled.kind == kind) else Outcome(kind)
        if ruled and ruled.kind not in {"kept", "translated"}:
            return ruled
        if value in ({}, [], None):
            return default("an empty field adds nothing")
        return dropped(UNKNOWN, "no rule of the import knows the field")


def _placed(output: Iterable[Tree]) -> Mapping[Origin, list[tuple[LeafPath, Any]]]:
    """Return the places of the output where each leaf of the input stands, with its value there."""
    placed = defaultdict[Origin, list[tuple[LeafPath, Any]]](list)
    for tree in output:
        for path, leaf in leaves(tree):
            for origin in leaf.origins if isinstance(leaf, Leaf) else ():
                placed[origin].append((path, leaf.value))
    return placed


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
    outcomes = [line for line in result.lines if line.document not in result.failed]
    lost = [line for line in outcomes if line.outcome.is_lost]
    told = [line for line in outcomes if line.outcome.is_told]
    for title, lines in (("lost", lost), ("by hand", result.by_hand), ("note", told)):
        for (document, reason), paths in _by_reason(lines).items():
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            yield printable(f"{title:8} {where[document]}: {paths[0] or 'the object'}{more}: {reason}")
    unused = {line.document: line.outcome for line in outcomes if line.outcome.code == UNUSED}
    for reason in dict.fromkeys(outcome.reason for outcome in unused.values()):
        names = (described(objects[number]) for number, each in unused.items() if each.reason == reason)
        yield printable(f"{'unused':8} {', '.join(names)}: {reason}")
    failed = f", {len(result.failed)} not imported" if result.failed else ""
    numbers = f"{len(_by_reason(lost))} lost, {len(result.by_hand)} by hand{failed}"
    yield f"{counted(len(objects), 'object')}: {numbers}"


def _by_reason(lines: Iterable[Line]) -> Mapping[tuple[int, str], list[str]]:
    """Return the paths of fields by their objects and reasons."""
    paths = defaultdict[tuple[int, str], list[str]](list)
    for document, path, outcome in lines:
        code = f" ({outcome.code})" if outcome.code else ""
        paths[document, f"{outcome.reason}{code}"].append(path)
    return paths


def as_data(result: ImportReport, objects: Sequence[Object], places: Sequence[str]) -> Object:
    """Return a report as JSON, without values: some are secret."""

    def place(document: int, path: str) -> Object:
        return {"object": described(objects[document]), "file": places[document], "field": path}

    kinds = Counter(line.outcome.kind for line in result.lines)
    return {
        "fields": [
            {
                **place(line.document, line.path),
                "outcome": line.outcome.kind,
                "lost": line.outcome.is_lost,
                "code": line.outcome.code,
                "reason": line.outcome.reason,
            }
            for line in result.lines
        ],
        "byHand": [
            {**place(line.document, line.path), "reason": line.outcome.reason} for line in result.by_hand
        ],
        "summary": {kind: kinds[kind] for kind in KINDS}
        | {"lost": len(result.lost), "byHand": len(result.by_hand)},
    }
