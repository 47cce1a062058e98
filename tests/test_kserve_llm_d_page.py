"""docs/kserve-llm-d.md is made from kserve_llm_d.yaml, and every test that it names runs."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from hack.markdown import table
from tests.kserve_llm_d import Area, Row, areas, claims, counted, unproven

PAGE: Final = Path(__file__).parents[1] / "docs" / "kserve-llm-d.md"
LENGTHS: Final = {"K": 156, "M": 47, "C": 25, "S": 4, "F": 8, "R": 14}
CHECKLIST: Final = [f"{part}{number + 1}" for part, length in LENGTHS.items() for number in range(length)]
START: Final = """\
# KServe and llm-d, row by row

<!-- made from tests/kserve_llm_d.yaml by `make generate` -->

KServe's LLMInferenceService and llm-d's ModelService describe a model server in one object, and their
controllers create its pods. FusionInfer injects the same at admission: into a LeaderWorkerSet, or into those
of an InferenceService. Each row has one thing that those systems do, what FusionInfer does, and the tests
that show it. Tests are named as pytest names them, below `tests/`; `golden/NAME` is a folder with an input
and its expected output. K is the LLMInferenceService, R the Ray runtime of KServe's earlier
InferenceService, M the ModelService, C llm-d's Helm chart, S llm-d's routing sidecar, F an earlier operator
of the name FusionInfer.

"""


def page() -> str:
    """Build the page."""
    return START + counts() + "".join(map(section, areas()))


def counts() -> str:
    """Write how many rows have which outcome."""
    rows = counted()
    done = Counter(kind(row) for row in rows)
    return (
        f"Of {len(rows)} rows that need no templates, {done['shown']} are shown by a test, "
        f"{done['not ours']} are not ours, for the reason that is given, and {done['not yet']} are missing. "
        "The rows about templates are at the end.\n"
    )


def kind(row: Row) -> str:
    """Return the kind of a row's outcome."""
    return "shown" if row.tests else row.outcome.partition(":")[0]


def section(area: Area) -> str:
    """Write the table of an area."""
    rows = [
        {
            "row": row.row,
            "theirs": row.theirs,
            "FusionInfer": row.outcome,
            "shown by": "<br>".join(f"`{test}`" for test in row.tests) or "-",
        }
        for row in area.rows
    ]
    return f"\n## {area.area}\n\n{table(rows)}"


def test_the_page_is_made_from_the_rows(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--refresh"):
        PAGE.write_text(page(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_row_of_the_checklist_has_its_place() -> None:
    rows = [row.row for area in areas() if area.checklist for row in area.rows]

    assert sorted(rows) == sorted(CHECKLIST)


def test_nine_of_ten_rows_that_need_no_templates_are_shown_by_a_test() -> None:
    rows = counted()

    assert sum(bool(row.tests) for row in rows) >= 0.9 * len(rows)


@pytest.mark.slow
def test_every_test_that_the_page_names_is_collected_and_not_skipped() -> None:
    assert unproven(claims()) == []


@pytest.mark.slow
def test_a_test_that_is_missing_or_skipped_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import pytest\n"
        "def test_runs(): pass\n"
        "@pytest.mark.parametrize('x', [1])\n"
        "def test_each(x): pass\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): pass\n"
        "@pytest.mark.skipif(False, reason='')\n"
        "def test_sometimes(): pass\n"
        "@pytest.mark.xfail\n"
        "def test_fails(): pass\n"
    )
    good = ("test_a.py::test_runs", "test_a.py::test_each", "test_a.py::test_each[1]")
    bad = (
        *("test_a.py::test_each[2]", "test_a.py::test_skipped", "test_a.py::test_sometimes"),
        *("test_a.py::test_fails", "test_a.py::test_gone", "test_b.py::test_runs"),
    )

    assert unproven({"A": good, "B": bad}, tmp_path) == [f"B: {test}" for test in bad]
