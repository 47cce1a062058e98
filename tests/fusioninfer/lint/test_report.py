"""The formats of a report: text, JSON, and commands of GitHub's workflows."""

import json
from typing import Any, Final

import pytest

from catalog.release import SITE
from fusioninfer.cli.files import VALIDATE
from fusioninfer.lint import report
from fusioninfer.lint.documents import Document, UnreadableFileError
from fusioninfer.lint.offline import Composition, Found
from intent.errors import FieldError


def found(code: str = "FI308", path: str = "spec", message: str = "is wrong", file: str = "a.yaml") -> Found:
    return Found(Document(file, 1, {}), FieldError(path, None, message, code))


ERROR, WARNING = found(), found("FI504", message="may be wrong")


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (Composition(), "0 errors, 0 warnings; 0 objects checked"),
        (Composition(found=(ERROR,), checked=1), "1 error, 0 warnings; 1 object checked"),
        (
            Composition(found=(ERROR, WARNING, WARNING), checked=3, skipped=(("ConfigMap", 1),)),
            "1 error, 2 warnings; 3 objects checked, 1 skipped (ConfigMap)",
        ),
        (
            Composition(checked=2, skipped=(("ConfigMap", 2), ("Secret", 1))),
            "0 errors, 0 warnings; 2 objects checked, 3 skipped (2 ConfigMap, Secret)",
        ),
        (
            Composition(skipped=(("LLMInferenceService", 1), ("Secret", 1))),
            (
                "0 errors, 0 warnings; 0 objects checked, 2 skipped (LLMInferenceService, Secret); "
                "fusioninfer import reads LLMInferenceService"
            ),
        ),
        (Composition(ignored=1), "0 errors, 0 warnings, 1 ignored; 0 objects checked"),
        (
            Composition(unread=(UnreadableFileError("a", "no"),)),
            "0 errors, 0 warnings, 1 unreadable file; 0 objects checked",
        ),
    ],
)
def test_the_counts_are_in_the_singular_and_the_plural(one: Composition, text: str) -> None:
    assert report.summary(one) == text


@pytest.mark.parametrize("text", ["a\nerror: b", "a\r", "\x1b[31m", "a\u2028b", "\x07", "\u202e"])
def test_a_name_starts_no_line_and_controls_no_terminal(text: str) -> None:
    one = found(path=text, message=text, file=text)

    lines = report.as_text(Composition(found=(one,), skipped=((text, 1),))).splitlines()

    assert len(lines) == 2
    assert text not in "".join(lines).replace("\x1b[31merror", "")


# --- JSON --------------------------------------------------------------------------------------------

KEYS: Final = [
    *("file", "line", "document", "severity", "code", "field", "value", "message", "cause"),
    *("remedy", "link"),
]
COUNTS: Final = ["errors", "warnings", "ignored", "unreadable", "checked", "skipped"]


def test_json_has_findings_and_a_summary() -> None:
    unread = UnreadableFileError("b.yaml", "no", 3, 1)
    whole = Composition(
        found=(ERROR, WARNING), unread=(unread,), ignored=4, checked=2, skipped=(("Secret", 1),)
    )

    read = json.loads(report.as_json(whole))

    assert [list(one) for one in read["findings"]] == [KEYS] * 3
    assert [(one["code"], one["line"]) for one in read["findings"]] == [
        ("FI905", 3),
        ("FI308", None),
        ("FI504", None),
    ]
    assert list(read["summary"]) == COUNTS
    assert list(read["summary"].values()) == [1, 1, 4, 1, 2, {"Secret": 1}]


def test_the_help_documents_each_field_of_the_json() -> None:
    assert [name for name in (*KEYS, *COUNTS) if name not in VALIDATE] == []


# --- SARIF ------------------------------------------------------------------------------------------


def test_sarif_has_each_finding_with_its_rule_and_place() -> None:
    unread = UnreadableFileError("b c.yaml", "no", 3, 1)

    (run,) = json.loads(report.as_sarif(Composition(found=(ERROR, WARNING), unread=(unread,))))["runs"]

    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("FI905", "error"),
        ("FI308", "error"),
        ("FI504", "warning"),
    ]
    (first, second, _) = (one["locations"][0]["physicalLocation"] for one in run["results"])
    assert first == {"artifactLocation": {"uri": "b%20c.yaml"}, "region": {"startLine": 3}}
    assert second == {"artifactLocation": {"uri": "a.yaml"}}
    rules = {one["id"]: one["helpUri"] for one in run["tool"]["driver"]["rules"]}
    assert rules["FI308"] == f"{SITE}/codes/#fi308"


# --- GitHub ------------------------------------------------------------------------------------------


def test_a_finding_is_a_workflow_command() -> None:
    unread = UnreadableFileError("b.yaml", "no", 3, 1)

    lines = report.as_github(Composition(found=(ERROR, WARNING), unread=(unread,))).splitlines()

    assert lines == [
        "::error file=b.yaml,line=3,title=FI905::b.yaml:3:1: no",
        "::error file=a.yaml,title=FI308::spec: is wrong",
        "::warning file=a.yaml,title=FI504::spec: may be wrong",
        "1 error, 1 warning, 1 unreadable file; 0 objects checked",
    ]


def test_the_file_of_standard_input_is_not_named() -> None:
    assert report.workflow_command(row("-", "no")) == "::error line=3,title=FI308::no"


def row(file: str, message: str) -> dict[str, Any]:
    """Return a finding as the JSON has it."""
    return {
        "file": file,
        "line": 3,
        "severity": "error",
        "code": "FI308",
        "field": "",
        "message": message,
    }


UNESCAPE: Final = {"%0A": "\n", "%0D": "\r", "%3A": ":", "%2C": ",", "%25": "%"}


@pytest.mark.parametrize("text", ["a\n::stop-commands::x", "50%0A", "a\r\nb", "a: b, c", "%25", "::"])
def test_text_is_escaped_as_github_reads_it(text: str) -> None:
    command = report.workflow_command(row(text, text))

    _, properties, message = command.split("::", maxsplit=2)
    values = dict(one.split("=", maxsplit=1) for one in properties.removeprefix("error ").split(","))
    assert "\n" not in command
    assert [unescaped(values["file"]), unescaped(message)] == [text, text]


def unescaped(text: str) -> str:
    """Unescape as the runner does (actions/runner, `ActionCommand.cs`): the percent sign last."""
    for escaped, one in UNESCAPE.items():
        text = text.replace(escaped, one)
    return text
