"""Golden cases: a directory has an input, the expected objects, and the expected findings.

`input.yaml` is expanded offline and, object by object, over HTTPS by the running webhook, whose patch
jsonpatch applies. Both must give `expected.yaml`, and findings must equal `messages.txt`. An expanded object
is expanded again, and must not change. A file that no case needs fails the test. `make golden` writes the
expected files; read the difference before you commit it.
"""

from base64 import b64decode
from pathlib import Path
from typing import Any, Final

import jsonpatch
import orjson
import pytest

from fusioninfer import documents, offline
from fusioninfer.demo import Webhook, post
from fusioninfer.documents import Document
from intent import Object
from intent.settings import Settings
from webhook.expand import expand
from webhook.review import warning

HERE: Final = Path(__file__).parent
CASES: Final = sorted(path for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__")
FILES: Final = {"input.yaml", "expected.yaml", "messages.txt"}

each_case = pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)


def composed(case: Path) -> offline.Composition:
    """Expand a case offline."""
    return offline.compose(documents.read([str(case / "input.yaml")]), Settings())


def leaderworkersets(case: Path) -> list[Document]:
    """Return the LeaderWorkerSets of a case, as written, or as rendered from an InferenceService."""
    read = documents.read([str(case / "input.yaml")])
    return [document for document in offline.rendered(read) if offline.is_lws(document.object)]


def inferenceservices(case: Path) -> list[Document]:
    """Return the InferenceServices of a case."""
    read = documents.read([str(case / "input.yaml")])
    return [document for document in read if offline.is_inferenceservice(document.object)]


def said(made: offline.Composition, case: Path) -> str:
    """Return the findings about a case, with paths relative to its directory."""
    return "".join(f"{one}\n".replace(f"{case}/", "") for one in made.found)


def text_of(path: Path) -> str:
    """Read an expected file; a missing one is empty."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


@each_case
def test_the_offline_expansion_is_the_expected_one(case: Path, request: pytest.FixtureRequest) -> None:
    made = composed(case)
    written = "" if made.denied else documents.write_yaml(made.objects)
    if request.config.getoption("--refresh"):
        refresh(case, written, said(made, case))

    assert (written, said(made, case)) == (text_of(case / "expected.yaml"), text_of(case / "messages.txt"))


def refresh(case: Path, written: str, messages: str) -> None:
    """Write the expected files of a case. An empty one is removed."""
    for name, text in (("expected.yaml", written), ("messages.txt", messages)):
        (case / name).unlink(missing_ok=True)
        if text:
            (case / name).write_text(text, encoding="utf-8")


@each_case
def test_the_webhook_gives_the_same_object(case: Path, webhook: Webhook) -> None:
    expected = [made for made in composed(case).objects if offline.is_lws(made)]

    admitted = [mutated(webhook, one.object) for one in leaderworkersets(case)]

    assert admitted == expected


def mutated(webhook: Webhook, live: Object) -> Object:
    """Send an object to /mutate and apply the patch, as an API server does."""
    answer = post(webhook, "/mutate", live)
    patch = orjson.loads(b64decode(answer["patch"])) if "patch" in answer else []
    applied: Object = jsonpatch.apply_patch(live, patch)
    return applied


@each_case
def test_the_webhook_reports_the_same_findings(case: Path, webhook: Webhook) -> None:
    alone = [
        offline.compose([one], Settings(), admission_only=True)
        for one in (*leaderworkersets(case), *inferenceservices(case))
    ]
    told = [(codes(made, "error"), warnings(made)) for made in alone]

    heard = [
        *(
            answered(post(webhook, "/validate", mutated(webhook, one.object)))
            for one in leaderworkersets(case)
        ),
        *(answered(post(webhook, "/validate", one.object)) for one in inferenceservices(case)),
    ]

    assert heard == told


def codes(made: offline.Composition, severity: str) -> list[tuple[str, str]]:
    """Return field and code of the errors."""
    return [(one.error.path, one.error.code) for one in made.found if one.error.severity == severity]


def warnings(made: offline.Composition) -> list[str]:
    """Return the warnings as kubectl shows them."""
    return [warning(one.error) for one in made.found if one.error.severity == "warning"]


def answered(response: dict[str, Any]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return field and code of every cause, and the warnings."""
    causes = response.get("status", {}).get("details", {}).get("causes", [])
    return [(cause["field"], cause["message"][-6:-1]) for cause in causes], response.get("warnings", [])


@each_case
def test_an_expanded_object_does_not_change(case: Path) -> None:
    once = [made for made in composed(case).objects if offline.is_lws(made)]

    again = [operations for made in once for operations in (expand(made), expand(made, made))]

    assert [operations for operations in again if operations] == []


def test_no_file_is_stale() -> None:
    files = {path.relative_to(HERE) for path in HERE.rglob("*") if path.is_file() and path.suffix != ".py"}
    files = {path for path in files if "__pycache__" not in path.parts}

    stale = [
        path for path in files if path.name not in FILES or not (HERE / path.parent / "input.yaml").exists()
    ]

    assert stale == []
