"""Measurements beside our goals, as a table, as Markdown or as JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Final, Literal

import orjson
from rich.table import Table

from intent import Object
from tests.bench.varied import COUNT

GOALS: Final[Mapping[str, float]] = {
    "CREATE, mutate: expanded": 1.5,
    f"CREATE, mutate: {COUNT} others in turn": 1.5,
    "UPDATE, mutate: pinned": 0.7,
    "CREATE, mutate: nothing to do": 0.7,
    "10,000 containers, mutate": 5,
    "10,000 containers, validate": 5,
    "CPU of a CREATE": 0.4,
    "CPU of an UPDATE": 0.4,
    "mean of mutate, CREATE": 1,
    "mean of mutate, UPDATE": 1,
    "mean of validate, CREATE": 1,
    "mean of validate, UPDATE": 1,
    "99 % of mutate, CREATE": 1,
    "99 % of mutate, UPDATE": 1,
    "99 % of validate, CREATE": 1,
    "99 % of validate, UPDATE": 1,
    "memory, at most": 200,
    "memory, beside LWS": 1,
}
"""What we aim at, by what is measured: at most so much. Tests do not time things; this says it plainly."""

Verdict = Literal["met", "missed", ""]


class WrongAnswerError(Exception):
    """Something answered otherwise than it should: how fast it did so means nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured."""

    name: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    """The least and the most of several rounds."""
    beside: Mapping[str, float | str] = field(default_factory=dict)
    """Absolute figures, which mean nothing on another machine."""
    goal: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Return whether it is what we aim at; empty if we aim at nothing."""
        if self.goal is None:
            return ""
        return "met" if self.value <= self.goal else "missed"


def row(name: str, unit: str, values: Iterable[float], **beside: float | str) -> Row:
    """Report the median of some rounds, beside the goal of that name."""
    found = sorted(values)
    return Row(name, median(found), unit, found[0], found[-1], beside, GOALS.get(name))


def expect(answered: object, expected: object, what: str) -> None:
    """Compare an answer that was measured with what it should be."""
    if answered != expected:
        raise WrongAnswerError(f"{what}: {answered!r:.200} is not {expected!r:.200}")


def table(title: str, rows: Iterable[Row]) -> Table:
    """Lay out the rows of one part."""
    made = Table("", "measured", "min to max", "goal", "", "beside", title=title, title_justify="left")
    for one in rows:
        made.add_row(*_cells(one))
    return made


def markdown(title: str, rows: Iterable[Row]) -> str:
    """Write the rows of one part as docs/performance.md shows them."""
    lines = [
        (f"**{title}**", "measured", "min to max", "goal", "", "beside"),
        ("---",) * 6,
        *map(_cells, rows),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def document(parts: Mapping[str, Iterable[Row]], noise: Object) -> bytes:
    """Write everything as JSON."""
    shown = {name: [_plain(one) for one in rows] for name, rows in parts.items()}
    return orjson.dumps({"noise": noise, "parts": shown}, option=orjson.OPT_INDENT_2)


def read(text: bytes) -> dict[str, list[Row]]:
    """Return the rows of each part of a JSON document."""
    parts: Mapping[str, list[Object]] = orjson.loads(text)["parts"]
    return {name: [_row(one) for one in rows] for name, rows in parts.items()}


def _row(one: Object) -> Row:
    keys = ("name", "value", "unit", "min", "max", "beside", "goal")
    name, value, unit, low, high, beside, goal = (one[key] for key in keys)
    return Row(name, value, unit, low, high, beside, goal)


def _cells(one: Row) -> tuple[str, ...]:
    spread = "" if one.low is None else f"{_short(one.low)} to {_short(one.high)}"
    goal = "" if one.goal is None else f"≤ {_short(one.goal)}"
    beside = ", ".join(f"{name.replace('_', ' ')} {_short(value)}" for name, value in one.beside.items())
    return one.name, f"{_short(one.value)} {one.unit}", spread, goal, one.verdict, beside


def _plain(one: Row) -> Object:
    return {
        "name": one.name,
        "value": one.value,
        "unit": one.unit,
        "min": one.low,
        "max": one.high,
        "goal": one.goal,
        "verdict": one.verdict,
        "beside": dict(one.beside),
    }


def _short(value: float | str | None) -> str:
    """Write three digits of a number: more of them mean nothing."""
    if not isinstance(value, int | float):
        return str(value or "")
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
