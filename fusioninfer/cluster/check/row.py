"""One row of the table of checks, and how a row is judged."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from catalog.codes import Severity
from fusioninfer.cluster.check.facts import Facts

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


def holds(detail: str = "") -> Judgement:
    """Return that a check holds."""
    return Judgement(True, detail)


def fails(detail: str) -> Judgement:
    """Return that a check does not hold, and why."""
    return Judgement(False, detail)


def first_of(found: Sequence[str], joint: str = ", ") -> str:
    """Name the first things, and say how many more there are."""
    more = f", and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return f"{joint.join(found[:LISTED])}{more}"


def unknown(detail: str) -> Judgement:
    """Return that a check could not be made, and why."""
    return Judgement(None, detail)


@dataclass(frozen=True, slots=True)
class Check:
    """One row."""

    name: str
    about: str
    """The part of the cluster, under which the row is printed."""
    claim: str
    """What holds if all is well."""
    judge: Callable[[Facts], Judgement | None]
    """Judge the claim; None if it does not apply to this cluster."""
    remedy: str
    severity: Severity = "error"
    when: frozenset[When] = BOTH
    needs: tuple[str, ...] = ()
    """The readings without which the check cannot be made."""
    after: tuple[str, ...] = field(default=())
    """The checks that must hold: without them this one says nothing new, and is left out."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found."""

    name: str
    about: str
    state: CheckState
    claim: str
    detail: str = ""
    remedy: str = ""
    """Empty if there is nothing to do."""


def results(checks: Iterable[Check], facts: Facts, when: When) -> tuple[CheckResult, ...]:
    """Judge the rows of a table in their order."""
    found: dict[str, CheckResult] = {}
    for check in checks:
        if when in check.when and all(name in found and found[name].state == "ok" for name in check.after):
            verdict = _judged(check, facts)
            if verdict is not None:
                found[check.name] = _result(check, verdict)
    return tuple(found.values())


def _judged(check: Check, facts: Facts) -> Judgement | None:
    missing = [why for reading in check.needs if (why := facts.answer(reading).unknown)]
    return unknown(missing[0]) if missing else check.judge(facts)


def _result(check: Check, verdict: Judgement) -> CheckResult:
    state: CheckState = "unknown" if verdict.holds is None else "ok" if verdict.holds else check.severity
    remedy = check.remedy if verdict.holds is False else ""
    return CheckResult(check.name, check.about, state, check.claim, verdict.detail, remedy)
