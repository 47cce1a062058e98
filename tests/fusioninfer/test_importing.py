"""`fusioninfer import`: outputs, reports and exit codes."""

import json
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import main

PLAIN: Final = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {}\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["import", *arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "a.yaml"
    found.write_text(PLAIN.format("a"))
    return found


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("kind: Secret\n", 2, "apiVersion, kind or metadata.name is missing: write it (FI967)"),
        ("a: [\n", 2, "error: "),
        (PLAIN.format("b") + "status: 1\n", 0, "2 objects: 0 lost, 0 by hand\n"),
    ],
)
def test_an_unreadable_object_hides_no_other(file: Path, content: str, code: int, message: str) -> None:
    other = file.parent / "b.yaml"
    other.write_text(content)

    result = run(str(file), str(other))

    assert (result.exit_code, message in result.stderr) == (code, True)
    assert PLAIN.format("a") in result.stdout


INVALID: Final = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: a}
spec:
  leaderWorkerTemplate:
    workerTemplate:
      spec: {containers: [{name: vllm, image: corp/llm:1, command: [vllm, serve, true]}]}
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_object_that_is_not_valid_is_named(file: Path, form: str) -> None:
    file.write_text(INVALID)
    result = run(str(file), "-o", form)

    errors = json.loads(result.stderr)["errors"] if form == "json" else [result.stderr.splitlines()[-1]]
    (found,) = [one.removeprefix("error: ") for one in errors]
    assert found.startswith("LeaderWorkerSet a of the output is not valid, spec.leaderWorkerTemplate.")
    assert found.endswith('command[2]: Invalid value: true: must be a string; quote it: "true" (FI921)')
    assert result.exit_code == 1


def test_the_report_as_json_is_nothing_else_where_a_file_cannot_be_read(file: Path) -> None:
    broken = file.parent / "b.yaml"
    broken.write_text("a: [\n")
    result = run(str(file), str(broken), "-o", "json")

    assert (result.exit_code, len(json.loads(result.stderr)["errors"])) == (2, 1)
