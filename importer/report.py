"""The report of an import: what became of each leaf of the input, exactly once; as text and JSON."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from importer.account import KINDS, UNUSED, Account, Line, Outcome, OutcomeKind, default, unknown
from importer.leaves import Leaf, LeafPath, Origin, leaves, plain, written
from intent import Object
from intent.errors import FieldError, counted, printable
from intent.shapes import mapping, metadata, text


class ImportResult(NamedTuple):
    """What an import made of all objects."""

    inputs: Sequence[Object]
    objects: tuple[Object, ...]
    """The output."""
    lines: tuple[Line, ...]
    """All leaves of the input, in their order."""
    by_hand: tuple[Line, ...]
    problems: Mapping[int, FieldError]
    """Why objects cannot be imported, by their indexes."""

    @property
    def lost(self) -> tuple[Line, ...]:
        """The leaves on which the other system acts, and FusionInfer will not."""
        return tuple(line for line in self.lines if line.outcome.is_lost)


def result(inputs: Sequence[Object], account: Account) -> ImportResult:
    """Return the output, and the outcome of each leaf of the input."""
    placed = defaultdict[Origin, list[tuple[LeafPath, Any]]](list)
    for tree in account.objects:
        for path, leaf in leaves(tree):
            for origin in leaf.origins if isinstance(leaf, Leaf) else ():
                placed[origin].append((path, leaf.value))

    def outcome(origin: Origin, value: Any) -> Outcome:
        if error := account.problems.get(origin.document):
            return Outcome("dropped", "the object cannot be imported", error.code, is_lost=True)
        rule = account.rule(origin)
        if places := placed.get(origin):
            kind: OutcomeKind = "kept" if (origin.path, value) in places else "translated"
            return rule if rule and (rule.partly or rule.kind == kind) else Outcome(kind)
        if rule and rule.kind not in {"kept", "translated"}:
            return rule
        if value in ({}, [], None):
            return default("an empty field adds nothing")
        return unknown("no rule of the import knows the field")

    lines = tuple(
        Line(number, written(path), outcome(Origin(number, path), value))
        for number, obj in enumerate(inputs)
        for path, value in leaves(obj)
    )
    output, problems = tuple(map(plain, account.objects)), dict(sorted(account.problems.items()))
    return ImportResult(inputs, output, lines, tuple(account.by_hand), problems)


def described(obj: Any) -> str:
    """Return kind, namespace and name of an object: `LLMInferenceService llm/qwen`."""
    names = [text(metadata(obj).get(key)) for key in ("namespace", "name")]
    parts = (text(mapping(obj).get("kind")) or "object", "/".join(filter(None, names)))
    return printable(" ".join(filter(None, parts)))


def as_text(made: ImportResult, places: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a report; `places` has file and number of each object.

    First what is lost, then the launches that stay by hand, then what an operator has to know, at the end the
    numbers. Fields of an object that share a reason are one line. Of what is not imported, the error says it.
    """
    names = list(map(described, made.inputs))
    imported = [line for line in made.lines if line.document not in made.problems]
    lost = [line for line in imported if line.outcome.is_lost]
    told = [line for line in imported if line.outcome.is_told]
    for title, lines in (("lost", lost), ("by hand", made.by_hand), ("note", told)):
        for (number, reason), paths in _by_reason(lines).items():
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            field = f"{paths[0] or 'the object'}{more}"
            yield printable(f"{title:8} {names[number]}, {places[number]}: {field}: {reason}")
    unused = {line.document: line.outcome.reason for line in imported if line.outcome.code == UNUSED}
    for reason in dict.fromkeys(unused.values()):
        alike = (names[number] for number, why in unused.items() if why == reason)
        yield printable(f"{'unused':8} {', '.join(alike)}: {reason}")
    failed = f", {len(made.problems)} not imported" if made.problems else ""
    numbers = f"{len(_by_reason(lost))} lost, {len(made.by_hand)} by hand{failed}"
    yield f"{counted(len(made.inputs), 'object')}: {numbers}"


def _by_reason(lines: Iterable[Line]) -> Mapping[tuple[int, str], list[str]]:
    """Return the paths of fields by their objects and reasons."""
    paths = defaultdict[tuple[int, str], list[str]](list)
    for document, path, outcome in lines:
        code = f" ({outcome.code})" if outcome.code else ""
        paths[document, f"{outcome.reason}{code}"].append(path)
    return paths


def as_data(made: ImportResult, places: Sequence[str]) -> Object:
    """Return a report as JSON, without values: some are secret."""

    def row(line: Line) -> Object:
        return {
            "object": described(made.inputs[line.document]),
            "file": places[line.document],
            "field": line.path,
            "outcome": line.outcome.kind,
            "lost": line.outcome.is_lost,
            "code": line.outcome.code,
            "reason": line.outcome.reason,
        }

    kinds = Counter(line.outcome.kind for line in made.lines)
    numbers = {"lost": len(made.lost), "byHand": len(made.by_hand)}
    return {
        "fields": [*map(row, made.lines)],
        "byHand": [*map(row, made.by_hand)],
        "summary": {kind: kinds[kind] for kind in KINDS} | numbers,
    }
