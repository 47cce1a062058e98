"""docs/launchers.md says what real engines were seen to do, as the tests on them have it."""

from pathlib import Path
from typing import Final

from catalog.engines import PRODUCTS
from tests.engines.matrix import CELLS, Cell

PAGE: Final = Path(__file__).parents[2] / "docs" / "launchers.md"


def row(cell: Cell) -> str:
    """Return the row of a cell."""
    runs = "runs, on the platform of the tests" if cell.lifted else "runs"
    result = runs if cell.outcome == "runs" else f"the engine ends, as {cell.code} says"
    if cell.outcome == "not on a CPU":
        result = f"not on a CPU: `{cell.said}`"
    name, version = PRODUCTS[cell.release.engine].title, cell.release.version
    return f"| `{cell.launcher}` | {cell.shape.name} | {name} {version} | {result} |"


def test_the_page_has_each_launch_that_real_engines_are_tested_with() -> None:
    chapter = (
        PAGE.read_text(encoding="utf-8").partition("### Launches on real engines\n")[2].partition("\n## ")[0]
    )
    _, _, *rows = [line for line in chapter.splitlines() if line.startswith("|")]

    assert rows == [row(cell) for cell in CELLS]
