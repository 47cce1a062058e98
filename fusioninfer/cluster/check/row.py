"""One row of the table of checks, and how a row is judged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from catalog.codes import Severity
from fusioninfer.cluster.check.facts import Facts, available
from intent import Object

CheckState = Literal["ok", "warning", "error", "unknown"]
When = Literal["pre", "installed"]
BOTH: Final[frozenset[When]] = frozenset({"pre", "installed"})
BEFORE: Final[frozenset[When]] = frozenset({"pre"})
INSTALLED: Final[frozenset[When]] = frozenset({"installed"})
LISTED: Final = 4
"""The most things that are named."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of one check."""

    holds: bool | None
    """None: not known."""
    detail: str = ""
    severity: Severity | None = None
    """How bad it is, where that is not as the row says."""


def holds(detail: str = "") -> Judgement:
    """Return that a check holds."""
    return Judgement(True, detail)


def fails(detail: str, severity: Severity | None = None) -> Judgement:
    """Return that a check does not hold, and why."""
    return Judgement(False, detail, severity)


def unknown(detail: str) -> Judgement:
    """Return that a check could not be made, and why."""
    return Judgement(None, detail)


def none_of(found: Sequence[str], joint: str = ", ") -> Judgement:
    """Return that a check holds if nothing was found; else name the first things that were."""
    more = f", and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return fails(f"{joint.join(found[:LISTED])}{more}") if found else holds()


def has_pods(deployment: Object, name: str) -> Judgement:
    """Judge whether pods of a Deployment are available."""
    count = available(deployment)
    return holds(f"{count} available") if count else fails(f"Deployment {name} has no available pod")


Judge = Callable[[Facts], Judgement | None]
"""Judges a claim; None if it does not apply to this cluster."""


@dataclass(frozen=True, slots=True)
class Check:
    """One row."""

    name: str
    claim: str
    """What holds if all is well."""
    remedy: str
    judge: Judge
    severity: Severity
    when: frozenset[When]
    needs: tuple[str, ...]
    """The readings without which the check cannot be made."""
    after: tuple[str, ...]
    """The checks that must hold: without them this one says nothing new, and is left out."""


def check(  # noqa: PLR0913 - the cells of a row
    name: str,
    claim: str,
    remedy: str,
    *,
    severity: Severity = "error",
    when: frozenset[When] = INSTALLED,
    needs: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
) -> Callable[[Judge], Check]:
    """Make the judgement of a claim a row."""
    return lambda judge: Check(name, claim, remedy, judge, severity, when, needs, after)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found."""

    name: str
    about: str
    """The part of the cluster, under which the row is printed."""
    state: CheckState
    claim: str
    detail: str = ""
    remedy: str = ""
    """Empty if there is nothing to do."""


def results(table: Mapping[str, Iterable[Check]], facts: Facts, when: When) -> tuple[CheckResult, ...]:
    """Judge the rows of a table, by the part of the cluster, in their order."""
    found: dict[str, CheckResult] = {}
    for about, checks in table.items():
        for row in checks:
            if when in row.when and all(name in found and found[name].state == "ok" for name in row.after):
                missing = [why for reading in row.needs if (why := facts.answer(reading).unknown)]
                verdict = unknown(missing[0]) if missing else row.judge(facts)
                if verdict is not None:
                    found[row.name] = _result(about, row, verdict)
    return tuple(found.values())


def _result(about: str, row: Check, verdict: Judgement) -> CheckResult:
    failed: CheckState = verdict.severity or row.severity
    state = "unknown" if verdict.holds is None else "ok" if verdict.holds else failed
    remedy = row.remedy if verdict.holds is False else ""
    return CheckResult(row.name, about, state, row.claim, verdict.detail, remedy)
