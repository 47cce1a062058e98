"""Render what was found in files: as text, JSON, commands of GitHub's workflows, and SARIF. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

import click

from catalog.codes import CODES, Severity
from catalog.release import SITE, VERSION
from fusioninfer.codes import ENTRIES
from fusioninfer.lint.documents import STANDARD_INPUT, UnreadableFileError, to_json
from fusioninfer.lint.hints import IMPORTED
from fusioninfer.lint.offline import Composition, Found
from intent.errors import counted, printable

UNREAD: Final = "FI905"
"""The code of a file that cannot be read."""
COLOURS: Final[Mapping[str, str]] = {"error": "red", "warning": "yellow"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which findings are printed, and which make the command fail."""

    ignored: frozenset[str] = frozenset()
    fail_on_warnings: bool = False
    quiet: bool = False
    """Print only findings that make the command fail, and no counts."""

    def fails(self, severity: Severity) -> bool:
        """Return whether a finding makes the command fail."""
        return severity == "error" or self.fail_on_warnings

    def prints(self, severity: Severity) -> bool:
        """Return whether a finding is printed, if its code is not ignored."""
        return not self.quiet or self.fails(severity)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in files, and what was looked at."""

    found: tuple[Found, ...]
    """Without the ignored ones."""
    unread: tuple[UnreadableFileError, ...] = ()
    ignored: int = 0
    """The number of ignored findings."""
    checked: int = 0
    """The number of objects that were checked."""
    skipped: tuple[tuple[str, int], ...] = ()
    """The number of objects of other kinds, by kind."""

    @classmethod
    def of(cls, made: Composition, unread: Iterable[UnreadableFileError]) -> "Report":
        """Return the report of files that were composed, and of those that cannot be read."""
        return cls(made.found, tuple(unread), checked=made.checked, skipped=made.skipped)

    def without(self, codes: frozenset[str], *, errors: bool = True) -> "Report":
        """Return the report without the findings of some codes: all of them, or only warnings."""
        kept = tuple(
            one
            for one in self.found
            if one.error.code not in codes or (one.error.severity == "error" and not errors)
        )
        return replace(self, found=kept, ignored=self.ignored + len(self.found) - len(kept))

    def fails(self, selection: Selection) -> bool:
        """Return whether the command fails because of a finding."""
        return any(selection.fails(one.error.severity) for one in self.found)

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(one.error.severity == severity for one in self.found)


# --- text --------------------------------------------------------------------------------------------


def place(one: Found) -> str:
    """Return the line of a finding, and which of the objects that the document renders to it is about."""
    return f"{one.place} ({one.document.part})" if one.document.part else one.place


def finding_lines(report: Report, selection: Selection) -> list[str]:
    """Render each printed finding with its place, in colour."""
    return [
        f"{printable(place(one))}: {click.style(one.error.severity, fg=COLOURS[one.error.severity])}: "
        f"{printable(str(one.error))}"
        for one in _printed(report, selection)
    ]


def summary(report: Report) -> str:
    """Render the counts: `1 error, 2 warnings; 3 objects checked, 1 skipped (ConfigMap)`."""
    found = [counted(report.count("error"), "error"), counted(report.count("warning"), "warning")]
    if report.ignored:
        found.append(f"{report.ignored} ignored")
    if report.unread:
        found.append(counted(len(report.unread), "unreadable file"))
    objects = f"{counted(report.checked, 'object')} checked"
    if report.skipped:
        objects += f", {sum(count for _, count in report.skipped)} skipped ({kinds(report.skipped)})"
    if read := [kind for kind, _ in report.skipped if kind in IMPORTED]:
        objects += f"; fusioninfer import reads {', '.join(read)}"
    return f"{', '.join(found)}; {objects}"


def kinds(counts: Iterable[tuple[str, int]]) -> str:
    """Render kinds with their counts: `2 ConfigMap, Secret`."""
    return printable(", ".join(kind if count == 1 else f"{count} {kind}" for kind, count in counts))


def as_text(report: Report, selection: Selection) -> str:
    """Render the printed findings, one a line, then the counts. Unreadable files are for standard error."""
    lines = finding_lines(report, selection)
    return "\n".join(lines if selection.quiet else [*lines, summary(report)])


def _printed(report: Report, selection: Selection) -> Iterable[Found]:
    return (one for one in report.found if selection.prints(one.error.severity))


# --- JSON --------------------------------------------------------------------------------------------


def as_json(report: Report, selection: Selection) -> str:
    """Render `findings`, with an unreadable file as the finding FI905, and their counts as `summary`.

    Fields may be added; none is removed or changes its meaning.
    """
    findings = [*map(_unread, report.unread), *map(_finding, _printed(report, selection))]
    counts = {
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "ignored": report.ignored,
        "unreadable": len(report.unread),
        "checked": report.checked,
        "skipped": dict(report.skipped),
    }
    return to_json({"findings": findings, "summary": counts})


def _finding(one: Found) -> dict[str, Any]:
    error = one.error
    document = one.document
    where = {"file": one.file, "line": one.line or None, "document": document.number, "part": document.part}
    return where | _row(error.severity, error.code, error.path, error.value, error.message)


def _unread(problem: UnreadableFileError) -> dict[str, Any]:
    where = {"file": problem.file, "line": problem.line or None, "document": None, "part": ""}
    return where | _row(CODES[UNREAD].severity, UNREAD, "", None, str(problem))


def _row(severity: Severity, code: str, path: str, value: Any, message: str) -> dict[str, Any]:
    entry = ENTRIES[code]
    return {
        "severity": severity,
        "code": code,
        "field": path,
        "value": value,
        "message": message,
        "cause": entry.cause,
        "remedy": entry.remedy,
        "link": entry.link,
    }


# --- GitHub ------------------------------------------------------------------------------------------

_DATA: Final = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_PROPERTY: Final = _DATA | {ord(":"): "%3A", ord(","): "%2C"}
"""How text and properties of a workflow command are escaped (actions/toolkit, `command.ts`)."""


def as_github(report: Report, selection: Selection) -> str:
    """Render each printed finding as a workflow command, which annotates the line; then the counts."""
    lines = [workflow_command("error", UNREAD, one.file, str(one), one.line) for one in report.unread]
    lines += [
        workflow_command(one.error.severity, one.error.code, one.file, str(one.error), one.line)
        for one in _printed(report, selection)
    ]
    return "\n".join(lines if selection.quiet else [*lines, summary(report)])


def workflow_command(level: str, title: str, file: str, message: str, line: int = 0) -> str:
    """Render a command of GitHub's workflows: `::error file=a.yaml,line=3,title=FI308::message`."""
    properties = {"file": "" if file == STANDARD_INPUT else file, "line": str(line or ""), "title": title}
    shown = ",".join(f"{key}={value.translate(_PROPERTY)}" for key, value in properties.items() if value)
    return f"::{level} {shown}::{message.translate(_DATA)}"


# --- SARIF -------------------------------------------------------------------------------------------


def as_sarif(report: Report, selection: Selection) -> str:
    """Render the printed findings as SARIF 2.1.0, which code scanning of GitHub and others read."""
    findings = [*map(_unread, report.unread), *map(_finding, _printed(report, selection))]
    rules = {one["code"]: ENTRIES[one["code"]] for one in findings}
    driver = {
        "name": "fusioninfer",
        "version": VERSION,
        "informationUri": SITE,
        "rules": [
            {
                "id": code,
                "shortDescription": {"text": row.title},
                "help": {"text": row.remedy},
                "helpUri": row.link,
            }
            for code, row in rules.items()
        ],
    }
    run = {"tool": {"driver": driver}, "results": [_result(one) for one in findings]}
    return to_json({"$schema": SARIF, "version": "2.1.0", "runs": [run]})


SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def _result(one: dict[str, Any]) -> dict[str, Any]:
    """Render a finding of the JSON as a result; one of standard input has no place."""
    region = {"region": {"startLine": one["line"]}} if one["line"] else {}
    uri = quote(one["file"].removeprefix("./"))
    where = [{"physicalLocation": {"artifactLocation": {"uri": uri}, **region}}]
    return {
        "ruleId": one["code"],
        "level": one["severity"],
        "message": {"text": f"{one['field']}: {one['message']}" if one["field"] else one["message"]},
        "locations": [] if one["file"] == STANDARD_INPUT else where,
    }


FORMATS: Final[Mapping[str, Callable[[Report, Selection], str]]] = {
    "text": as_text,
    "json": as_json,
    "github": as_github,
    "sarif": as_sarif,
}
"""The formats of a report, by the value of --output."""
