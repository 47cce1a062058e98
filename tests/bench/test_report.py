"""A row says whether it is what we aim at; the table and the JSON hold the same."""

from io import StringIO

import orjson
import pytest
from rich.console import Console

from tests.bench.report import GOALS, Row, WrongAnswerError, document, expect, markdown, row, table

GOAL, LIMIT = next(iter(GOALS.items()))


@pytest.mark.parametrize(
    ("value", "verdict"), [(LIMIT, "met"), (LIMIT - 0.1, "met"), (LIMIT + 0.1, "missed")]
)
def test_a_goal_is_met_up_to_its_limit(value: float, verdict: str) -> None:
    assert row(GOAL, "x", [value]).verdict == verdict


def test_where_nothing_is_aimed_at_there_is_no_verdict() -> None:
    assert row("something else", "x", [1.0]).verdict == ""


def test_a_row_has_median_minimum_and_maximum() -> None:
    found = row("something", "x", [3.0, 1.0, 2.0])

    assert (found.value, found.low, found.high) == (2.0, 1.0, 3.0)


def test_another_answer_than_expected_is_wrong() -> None:
    with pytest.raises(WrongAnswerError, match="the call: 1 is not 2"):
        expect(1, 2, "the call")


def test_the_table_marks_missed_goals() -> None:
    console = Console(width=120, file=StringIO())
    with console.capture() as shown:
        console.print(table("A part", [row(GOAL, "x", [LIMIT * 1000])]))

    assert "missed" in shown.get()


def test_markdown_has_a_line_for_each_row() -> None:
    text = markdown("A part", [Row("a", 1.5, "x", 1.0, 2.0, {"of_lws": 1234.5}, 1.0)])

    assert text.splitlines()[2] == "| a | 1.5 x | 1 to 2 | ≤ 1 | missed | of lws 1,234 |"


def test_the_json_holds_the_rows_by_part_and_the_noise() -> None:
    read = orjson.loads(document({"part": [Row("a", 1.5, "x", goal=1.0)]}, {"cores": 2}))

    assert (read["noise"], read["parts"]["part"][0]["verdict"]) == ({"cores": 2}, "missed")
