"""One row of the table of checks, and how a row is judged."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from fusioninfer.cluster.check.facts import Facts

CheckState = Literal["ok", "warning", "error", "unknown"]


class Judgement(NamedTuple):
    """The judgement of one check."""

    state: CheckState
    detail: str = ""


OK: Final = Judgement("ok")
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
    needs: tuple[str, ...]
    """The readings without which the check cannot be made."""
    after: str
    """The check without which this one says nothing new, and is left out; empty: none."""


def check(
    name: str, claim: str, remedy: str, *, needs: tuple[str, ...] = (), after: str = ""
) -> Callable[[Judge], Check]:
    """Make the judgement of a claim a row."""
    return lambda judge: Check(name, claim, remedy, judge, needs, after)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check."""

    name: str
    about: str
    """The part of the cluster, under which the row is printed."""
    state: CheckState
    claim: str
    detail: str = ""
    remedy: str = ""
    """Empty if there is nothing to do."""


def results(table: Mapping[str, Iterable[Check]], facts: Facts) -> tuple[CheckResult, ...]:
    """Judge the rows of a table, by the part of the cluster, in their order."""
    judged: dict[str, CheckResult] = {}
    for about, checks in table.items():
        for row in checks:
            if row.after and (row.after not in judged or judged[row.after].state in {"error", "unknown"}):
                continue
            unread = next((why for reading in row.needs if (why := facts.answer(reading).unknown)), "")
            verdict = Judgement("unknown", unread) if unread else row.judge(facts)
            if verdict is not None:
                remedy = row.remedy if verdict.state in {"warning", "error"} else ""
                judged[row.name] = CheckResult(
                    row.name, about, verdict.state, row.claim, verdict.detail, remedy
                )
    return tuple(judged.values())
