"""The golden cases: each is a folder with what a user writes, what becomes of it, and what is reported.

`input.yaml` is expanded by the command and, object by object, by admission in this process, whose patch
jsonpatch applies. Both must give `expected.yaml`; the findings must be those of `messages.txt`. Expanded
objects are expanded again, and must not change. A file that no case uses fails. A few cases (`OVER_TLS`) go
to the running webhook as well.
`make generate` writes the expected files anew; read the difference before you keep it.
"""

from base64 import b64decode
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Final

import click
import jsonpatch
import orjson
import pytest

from catalog.codes import files
from fusioninfer.lint import documents, offline, report
from fusioninfer.lint.checked import library, seen_by
from fusioninfer.lint.documents import Document
from intent import Object
from intent.errors import FieldError
from intent.settings import Settings
from intent.template import Templates
from tests.builders.documents import read_files
from tests.builders.reviews import review as sent
from tests.golden.served import Webhook, post
from webhook import review
from webhook.expand import expand
from webhook.mutate import ORDER, RESTORABLE, WRITABLE
from webhook.overlay import record as records
from webhook.review import warning

Answer = Callable[[str, Object], Object]
"""Returns the response to the CREATE of an object that is sent to a path."""
Reported = tuple[list[tuple[str, str]], list[str]]
"""Field and code of each error, and the warnings."""

HERE: Final = Path(__file__).parent
CASES: Final = sorted(path for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__")
OVER_TLS: Final = (
    "engine-01-documents-example-2",
    "engine-62-unknown-entrypoint",
    "isvc-all-wrong",
    "isvc-story-4",
    "sidecar-01-args-only",
)
"""The cases that the webhook also answers as a process, over TLS."""
FILES: Final = {"input.yaml", "expected.yaml", "messages.txt"}

each_case = pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)


@cache
def inputs(case: Path) -> list[Document]:
    """Read what the user of a case wrote. The objects must not be changed: tests share them."""
    return read_files([str(case / "input.yaml")])


@cache
def composed(case: Path) -> offline.Composition:
    """Expand a case as the command does. Its objects must not be changed."""
    before = orjson.dumps([one.object for one in inputs(case)])
    made = offline.compose(inputs(case), Settings())
    assert orjson.dumps([one.object for one in inputs(case)]) == before, "the command changed its input"
    return made


@cache
def leaderworkersets(case: Path) -> list[Document]:
    """Return the LeaderWorkerSets of a case: as written, or as rendered from an InferenceService."""
    return [document for document in offline.rendered(inputs(case)) if offline.is_lws(document.object)]


@cache
def admitted(case: Path) -> list[Object]:
    """Return the LeaderWorkerSets of a case as admission in this process mutates them. Not to be changed."""
    return [mutated(reading(case, one.object), one.object) for one in leaderworkersets(case)]


def reading(case: Path, lws: Object) -> Answer:
    """Return the webhook that can read the templates of a case."""
    return partial(in_process, templates=templates_of(case, lws))


def templates_of(case: Path, lws: Object) -> Templates:
    """Return the templates of a case that an object may name."""
    return seen_by(library(one.object for one in inputs(case)), lws)


def inferenceservices(case: Path) -> list[Document]:
    """Return the InferenceServices of a case."""
    return [document for document in inputs(case) if document.object["kind"] == "InferenceService"]


def expected(case: Path) -> dict[str, str]:
    """Return the expected files: objects, and findings with paths relative to the folder of the case."""
    made = composed(case)
    lines = (click.unstyle(line).replace(f"{case}/", "") for line in report.finding_lines(made))
    return {
        "expected.yaml": "" if made.count("error") else documents.write_yaml(made.objects),
        "messages.txt": "".join(f"{line}\n" for line in lines),
    }


def text_of(path: Path) -> str:
    """Return the text of an expected file; an absent one is empty."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


@each_case
def test_the_command_expands_to_the_expected_files(case: Path) -> None:
    assert {name: text_of(case / name) for name in expected(case)} == expected(case)


@each_case
def test_admission_stores_the_same(case: Path) -> None:
    expected = [made for made in composed(case).objects if offline.is_lws(made)]

    assert admitted(case) == expected


@each_case
def test_admission_reports_the_same(case: Path) -> None:
    assert reported(in_process, admitted(case), case) == reported_offline(case)


@pytest.mark.slow
@pytest.mark.parametrize("name", OVER_TLS)
def test_the_webhook_process_answers_the_same_over_tls(name: str, webhook: Webhook) -> None:
    case = HERE / name
    expected = [made for made in composed(case).objects if offline.is_lws(made)]

    def over_tls(path: str, live: Object) -> Object:
        return post(webhook, path, live)

    made = [mutated(over_tls, one.object) for one in leaderworkersets(case)]
    assert made == expected
    assert reported(over_tls, made, case) == reported_offline(case)


def in_process(path: str, live: Object, templates: Templates | None = None) -> Object:
    """Answer the review of a CREATE as the server does, without the server."""
    body = orjson.dumps(sent(live))
    read = templates if review.wanted(body).names else None
    made = review.mutate(body, templates=read) if path == "/mutate" else review.validate(body)
    answer: Object = orjson.loads(made.body)["response"]
    return answer


def mutated(answer: Answer, live: Object) -> Object:
    """Have /mutate answer for an object, and apply the patch as an API server does."""
    response = answer("/mutate", live)
    patch = orjson.loads(b64decode(response["patch"])) if "patch" in response else []
    applied: Object = jsonpatch.apply_patch(live, patch)
    return applied


def reported(answer: Answer, lws: list[Object], case: Path) -> list[Reported]:
    """Return what /validate reports about the objects of a case, LeaderWorkerSets after their mutation.

    Fields that the schema refuses are left out: the API server checks it before it calls a webhook.
    """
    services = [one.object for one in inferenceservices(case)]
    refused = {one.error.path for one in composed(case).found if one.error.code in files.ROWS}
    each = [causes_and_warnings(answer("/validate", live)) for live in (*lws, *services)]
    return [([one for one in causes if one[0] not in refused], warned) for causes, warned in each]


def reported_offline(case: Path) -> list[Reported]:
    """Return what the command reports about the same objects, each on its own."""
    named = [one for one in inputs(case) if one.object["kind"] == "InferenceTemplate"]
    alone = [
        offline.compose([one, *named], Settings(), admission_only=True)
        for one in (*leaderworkersets(case), *inferenceservices(case))
    ]
    return [(codes(made, "error"), warnings(made)) for made in alone]


def of_admission(made: offline.Composition) -> list[FieldError]:
    """Return the findings but those about files: the API server checks schemas before it calls a webhook."""
    return [one.error for one in made.found if one.error.code not in files.ROWS]


def codes(made: offline.Composition, severity: str) -> list[tuple[str, str]]:
    """Return field and code of each finding of a severity."""
    return [(one.path, one.code) for one in of_admission(made) if one.severity == severity]


def warnings(made: offline.Composition) -> list[str]:
    """Return the warnings as kubectl shows them."""
    return [warning(one) for one in of_admission(made) if one.severity == "warning"]


def causes_and_warnings(response: Object) -> Reported:
    """Return field and code of every cause in a response, and its warnings."""
    causes = response.get("status", {}).get("details", {}).get("causes", [])
    return [(cause["field"], cause["message"][-6:-1]) for cause in causes], response.get("warnings", [])


def test_expanded_objects_are_not_changed_again() -> None:
    once = [(case.name, made) for case in CASES for made in composed(case).objects if offline.is_lws(made)]

    again = [(name, operations) for name, made in once for operations in (expand(made), expand(made, made))]

    assert [(name, operations) for name, operations in again if operations] == []


def test_a_record_is_read_as_it_was_written_and_has_a_few_kilobytes() -> None:
    made = [made for case in CASES for made in composed(case).objects if offline.is_lws(made)]
    texts = {text for one in made if (text := records.find(one))}

    found = [records.read(text, WRITABLE, ORDER, RESTORABLE) for text in texts]

    assert len(found) > len(CASES) / 2
    assert median(map(len, texts)) <= 2700  # bytes
    assert [error for error in found if isinstance(error, FieldError)] == []


def test_every_file_belongs_to_a_case() -> None:
    files = {path.relative_to(HERE) for path in HERE.rglob("*") if path.is_file() and path.suffix != ".py"}
    files = {path for path in files if "__pycache__" not in path.parts}

    stale = [
        path for path in files if path.name not in FILES or not (HERE / path.parent / "input.yaml").exists()
    ]

    assert stale == []
