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


def test_objects_are_printed_and_the_report_goes_to_standard_error(file: Path) -> None:
    result = run("-f", str(file))

    assert (result.exit_code, result.stdout) == (0, PLAIN.format("a"))
    assert "kept       metadata.name\n" in result.stderr
    assert result.stderr.endswith("3 fields: 3 kept, 0 translated, 0 default, 0 dropped; 0 lost\n")


def test_with_a_directory_each_object_has_a_file_and_the_report_is_printed(file: Path) -> None:
    file.write_text(PLAIN.format("a") + "---\n" + PLAIN.format("../A") + "---\n" + PLAIN.format("a"))
    out = file.parent / "out"

    result = run("-f", str(file), "-o", str(out), "--report", "json")

    assert (result.exit_code, json.loads(result.stdout)["summary"]["kept"]) == (0, 9)
    assert {one.name: one.read_text() for one in out.iterdir()} == {
        "secret-a.yaml": PLAIN.format("a"),
        "secret-..-a.yaml": PLAIN.format("../A"),
        "secret-a-2.yaml": PLAIN.format("a"),
    }


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("kind: Secret\n", 2, "apiVersion, kind or metadata.name is missing: write it (FI967)"),
        ("a: [\n", 2, "error: "),
        (PLAIN.format("b") + "status: 1\n", 0, "dropped    status: it belongs to the object in the cluster"),
    ],
)
def test_an_unreadable_object_hides_no_other(file: Path, content: str, code: int, message: str) -> None:
    other = file.parent / "b.yaml"
    other.write_text(content)

    result = run(str(file), str(other))

    assert (result.exit_code, message in result.stderr) == (code, True)
    assert PLAIN.format("a") in result.stdout


def test_what_is_missing_is_named_before_the_report(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "apiVersion: serving.kserve.io/v1alpha1\nkind: LLMInferenceService\nmetadata: {name: a}\n"
        "spec: {model: {uri: hf://o/m}, router: {scheduler: {}}}\n"
    )

    first, *_ = run(str(file)).stderr.splitlines()

    assert "kserve-config-llm-scheduler, kserve-config-llm-template, which are not in the files" in first
