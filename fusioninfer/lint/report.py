"""Render what was found in files: as text, JSON, commands of GitHub's workflows, and SARIF. Pure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import click

from catalog.release import SITE, VERSION
from fusioninfer.codes import ENTRIES
from fusioninfer.lint.documents import STANDARD_INPUT, to_json
from fusioninfer.lint.offline import Composition
from importer.table import FOREIGN
from intent.errors import FieldError, counted, printable

UNREAD: Final = "FI905"
"""The code of a file that cannot be read."""
COLOURS: Final[Mapping[str, str]] = {"error": "red", "warning": "yellow"}


# --- text --------------------------------------------------------------------------------------------


def finding_lines(report: Composition) -> list[str]:
    """Render each finding with its line."""
    severities = {severity: click.style(severity, fg=colour) for severity, colour in COLOURS.items()}
    return [f"{printable(one.place)}: {severities[one.error.severity]}: {one.error}" for one in report.found]


def summary(report: Composition) -> str:
    """Render the counts: `1 error, 2 warnings; 3 objects checked, 1 skipped (ConfigMap)`."""
    found = [counted(report.count("error"), "error"), counted(report.count("warning"), "warning")]
    if report.ignored:
        found.append(f"{report.ignored} ignored")
    if report.unread:
        found.append(counted(len(report.unread), "unreadable file"))
    objects = f"{counted(report.checked, 'object')} checked"
    if report.skipped:
        kinds = ", ".join(kind if count == 1 else f"{count} {kind}" for kind, count in report.skipped)
        objects += f", {sum(count for _, count in report.skipped)} skipped ({printable(kinds)})"
    if read := [kind for kind, _ in report.skipped if kind in FOREIGN]:
        objects += f"; fusioninfer import reads {', '.join(read)}"
    return f"{', '.join(found)}; {objects}"


def as_text(report: Composition) -> str:
    """Render the findings, one a line, then the counts. Unreadable files are for standard error."""
    return "\n".join((*finding_lines(report), summary(report)))


# --- JSON --------------------------------------------------------------------------------------------


def _rows(report: Composition) -> Iterator[dict[str, Any]]:
    """Yield the findings as the JSON has them; first each unreadable file, as the finding FI905."""
    for problem in report.unread:
        yield _row(problem.file, problem.line, None, FieldError("", None, str(problem), UNREAD))
    for one in report.found:
        document = one.document
        yield _row(document.file, document.line(one.error.path), document.number, one.error)


def _row(file: str, line: int, document: int | None, error: FieldError) -> dict[str, Any]:
    entry = ENTRIES[error.code]
    return {
        "file": file,
        "line": line or None,
        "document": document,
        "severity": error.severity,
        "code": error.code,
        "field": error.path,
        "value": error.value,
        "message": error.message,
        "cause": entry.cause,
        "remedy": entry.remedy,
        "link": entry.link,
    }


def as_json(report: Composition) -> str:
    """Render `findings` and their counts as `summary`.

    Fields may be added; none is removed or changes its meaning.
    """
    counts = {
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "ignored": report.ignored,
        "unreadable": len(report.unread),
        "checked": report.checked,
        "skipped": dict(report.skipped),
    }
    return to_json({"findings": [*_rows(report)], "summary": counts})


def _said(row: Mapping[str, Any]) -> str:
    """Return the message of a finding with its field."""
    return f"{row['field']}: {row['message']}" if row["field"] else str(row["message"])


# --- GitHub ------------------------------------------------------------------------------------------

_DATA: Final = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_PROPERTY: Final = _DATA | {ord(":"): "%3A", ord(","): "%2C"}
"""How text and properties of a workflow command are escaped (actions/toolkit, `command.ts`)."""


def as_github(report: Composition) -> str:
    """Render each finding as a workflow command, which annotates the line; then the counts."""
    rows = (row | {key: printable(row[key]) for key in ("field", "message")} for row in _rows(report))
    return "\n".join((*map(workflow_command, rows), summary(report)))


def workflow_command(row: Mapping[str, Any]) -> str:
    """Render a command of GitHub's workflows: `::error file=a.yaml,line=3,title=FI308::message`."""
    file = "" if row["file"] == STANDARD_INPUT else row["file"]
    properties = {"file": file, "line": str(row["line"] or ""), "title": row["code"]}
    shown = ",".join(f"{key}={value.translate(_PROPERTY)}" for key, value in properties.items() if value)
    return f"::{row['severity']} {shown}::{_said(row).translate(_DATA)}"


# --- SARIF -------------------------------------------------------------------------------------------


def as_sarif(report: Composition) -> str:
    """Render the findings as SARIF 2.1.0, which code scanning of GitHub and others read."""
    findings = [*_rows(report)]
    rules = {row["code"]: ENTRIES[row["code"]] for row in findings}
    driver = {
        "name": "fusioninfer",
        "version": VERSION,
        "informationUri": SITE,
        "rules": [
            {
                "id": code,
                "shortDescription": {"text": entry.title},
                "help": {"text": entry.remedy},
                "helpUri": entry.link,
            }
            for code, entry in rules.items()
        ],
    }
    run = {"tool": {"driver": driver}, "results": [*map(_result, findings)]}
    return to_json({"$schema": SARIF, "version": "2.1.0", "runs": [run]})


SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def _result(row: Mapping[str, Any]) -> dict[str, Any]:
    """Render a finding as a result; one of standard input has no place."""
    region = {"region": {"startLine": row["line"]}} if row["line"] else {}
    uri = quote(row["file"].removeprefix("./"))
    where = [{"physicalLocation": {"artifactLocation": {"uri": uri}, **region}}]
    return {
        "ruleId": row["code"],
        "level": row["severity"],
        "message": {"text": _said(row)},
        "locations": [] if row["file"] == STANDARD_INPUT else where,
    }


FORMATS: Final[Mapping[str, Callable[[Composition], str]]] = {
    "text": as_text,
    "json": as_json,
    "github": as_github,
    "sarif": as_sarif,
}
"""The formats of a report, by the value of --output."""
