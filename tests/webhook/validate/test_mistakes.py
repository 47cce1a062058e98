"""Each mistake of an author has a message in the author's words: the field, the cause, the remedy."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from catalog.codes import CODES
from intent import Object
from intent.annotations import EXPANSION, PREFIX, path
from intent.errors import FieldError
from intent.inferenceservice.crd import schema
from intent.inferenceservice.members import authored
from intent.inferenceservice.read import read
from intent.inferenceservice.topology import ELSEWHERE
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import changed, template
from tests.golden.test_golden import CASES, composed, leaderworkersets, templates_of
from tests.webhook.validate.mistakes import MISTAKES, Mistake
from webhook.check import check
from webhook.review import WARNING_LENGTH, warning

OTHERS: Final = {
    "FI323": "the operator's settings",
    "FI4": "rules about several members, from `intent.service` and the controller",
    "FI7": "rules about InferenceServices",
    "FI8": "rules about routes, and of the controller",
    "FI90": "rules about the record and about limits",
    "FI92": "rules about files",
    "FI93": "hints about files",
    "FI94": "rules about files",
    "FI96": "the report of an import",
    "FI330": "rules about InferenceTemplates",
    "FI975": "the report of an import",
    "FI976": "the report of an import",
    "FI977": "rules about routes, and of the controller",
    "FI520": "an update",
    "FI521": "an update",
    "FI522": "an update",
    "FI523": "an update",
    "FI530": "an update",
    "FI535": "an update",
}
"""Codes, or beginnings of codes, that one new LeaderWorkerSet does not have."""
ABSENT: Final = re.compile(r"\b(absent|missing|required|no|none|without|add|set|not)\b", re.IGNORECASE)
"""Words of a message about a field that is not in the object."""
REMEDY: Final = re.compile(
    r"\b(must|add|use|set|write|remove|rename|request|choose|lower|make|move|keep|name|check|call|probe"
    r"|needs?|required|allowed|mount|apply|silences|did you mean|to force it|is used|change)\b"
)
"""Words of a message that tell what to do, or that nothing is to be done."""


CONTROLLERS: Final = ("FI87", "FI88")
"""Codes of the controller, whose remedies are in `catalog.codes` alone."""
WAITS: Final = {"FI410": "apply the LeaderWorkerSet of the missing role"}
"""The code about a service that waits, whose remedy is in `catalog.codes` alone."""


APART: Final = {"engine-24-output-fed-back", "engine-34-kv-transfer-dotted", "engine-fused-short-flags"}
"""Golden cases in which a word that is named is not in the list item, or is the value of one further up."""
each_case = pytest.mark.parametrize(
    "case", [*MISTAKES.values(), *CASES], ids=[*MISTAKES, *(case.name for case in CASES)]
)


def findings(case: Mistake | Path) -> Iterator[tuple[Object, FieldError]]:
    """Yield the findings about the objects of a case, as they are in a file, each with its object."""
    if isinstance(case, Mistake):
        objects = [(case.object, case.templates)]
    else:
        objects = [(one.object, templates_of(case, one.object)) for one in leaderworkersets(case)]
    for live, templates in objects:
        yield from ((live, one) for one in check(live, mutated=False, templates=templates))


@pytest.mark.parametrize("case", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_with_its_field_cause_and_remedy(case: Mistake) -> None:
    reported = [(one.path, one.message) for _, one in findings(case) if one.code == case.code]

    assert [path for path, message in reported if case.says in message] == [case.path], reported


@each_case
def test_a_finding_is_right_in_field_words_remedy_and_length(case: Mistake | Path) -> None:
    is_apart = isinstance(case, Path) and case.name in APART
    for live, one in findings(case):
        assert exists(live, one.path) or ABSENT.search(one.message), f"another field: {one}"
        assert is_apart or quotes_the_author(one, live), f"not in the author's words: {one}"
        assert REMEDY.search(one.message), f"no remedy: {one}"
        assert one.severity != "warning" or len(warning(one)) < WARNING_LENGTH, f"is cut: {one}"
        assert_in_words_of_inferenceservice(one)


def test_every_code_of_a_new_leaderworkerset_has_a_mistake() -> None:
    expected = {code for code in CODES if not code.startswith(tuple(OTHERS))}
    of_cases = {one.code for case in CASES for _, one in findings(case)}

    assert expected - {case.code for case in MISTAKES.values()} - of_cases == set()


def quotes_the_author(error: FieldError, live: Object) -> bool:
    """Return whether a finding about an argument has a word of it."""
    item = value_at(live, error.path) if re.search(r"\.(args|command)\[\d+\]$", error.path) else None
    return not (isinstance(item, str) and item) or quotes(str(error), live, error.path)


def quotes(text: str, whole: Object, path: str) -> bool:
    """Return whether a text has a word of a list item, or of the one before it, whose value it is."""
    above, _, at = path.rpartition("[")
    items = value_at(whole, above)
    number = int(at.removesuffix("]"))
    near = items[max(number - 1, 0) : number + 1]
    return any(word in text for item in near for word in words(item))


def words(item: str) -> Iterator[str]:
    """Yield the words of a list item: flags, values, and strings within JSON."""
    yield from (
        word for word in re.split(r"[\s=\"{}:,\u2010-\u2015]+", item) if len(word) > 1 or word.isdecimal()
    )


def exists(whole: Object, path: str) -> bool:
    """Return whether a field is in an object."""
    return value_at(whole, path) is not None


def value_at(whole: Any, path: str) -> Any:
    """Return the value at a field path; None if there is none."""
    for key, bracketed in re.findall(r"\.?([^.\[\]]+)|\[([^\]]*)\]", path):
        step = key or bracketed
        if isinstance(whole, list):
            whole = whole[int(step)] if step.isdecimal() and int(step) < len(whole) else None
        else:
            whole = whole.get(step) if isinstance(whole, dict) else None
    return whole


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_a_finding_of_a_golden_case_names_a_remedy(case: Path) -> None:
    reported = [one.error for one in composed(case).found if not one.error.code.startswith(CONTROLLERS)]

    assert [
        str(one) for one in reported if not REMEDY.search(f"{one.message} {WAITS.get(one.code, '')}")
    ] == []


def refused_values(live: Object) -> Iterator[tuple[str, Object]]:
    """Yield each annotation of ours with the object in which its value is refused."""
    for key in live["metadata"].get("annotations") or {}:
        if key.startswith(PREFIX) and key != EXPANSION:
            yield path(key), changed(live, f"metadata.annotations.{key}", "A B!")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_refused_value_adds_no_finding_but_its_own(case: Path) -> None:
    for document in leaderworkersets(case):
        before = {(one.path, one.code) for one in check(document.object, mutated=False)}
        for where, live in refused_values(document.object):
            added = {(one.path, one.code) for one in check(live, mutated=False)} - before

            assert {place for place, _ in added} <= {where}


def field_at(path: str) -> bool:
    """Return whether an InferenceService has a field at a path."""
    above, _, name = path.rpartition(".")
    node = schema()
    for step in re.findall(r"[A-Za-z]+|[0-9]+", above):
        node = node.get("items", {}) if step.isdecimal() else node.get("properties", {}).get(step, {})
    return name in node.get("properties", ())


SERVICE: Final = read(isvc(router(), worker(worker=template())))[0]


def assert_in_words_of_inferenceservice(error: FieldError) -> None:
    """Check how a finding on a rendered object is told: in the words of the InferenceService."""
    assert SERVICE is not None
    told = authored(error, SERVICE, SERVICE.roles[0])

    assert "leaderWorkerTemplate" not in str(told)
    assert [key for key in ELSEWHERE if re.search(rf"{key}(?![\w-])", str(told))] == []
    assert not error.part or field_at(told.path)
    assert not (told.path.startswith("spec.") and "annotation" in told.message), str(told)
