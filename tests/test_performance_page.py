"""Measured figures are in one place: docs/performance.md, made from the JSON of the benchmark."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.bench.__main__ import PARTS
from tests.bench.report import markdown, read

DOCS: Final = Path(__file__).parents[1] / "docs"
PAGE: Final = DOCS / "performance.md"
RESULTS: Final = DOCS / "performance.json"
TABLES: Final = re.compile(r"(<!-- results[^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
MEASURED: Final = re.compile(r"CPU of a (CREATE|full expansion)|relative to `json\.loads`|peak memory")
"""Words of figures that belong to that page."""
OTHERS: Final = sorted({*DOCS.glob("*.md"), DOCS.parent / "README.md"} - {PAGE})


def tables() -> str:
    """Write the tables of all parts."""
    parts = read(RESULTS.read_bytes())
    return "".join(f"{markdown(PARTS[name].title, rows)}\n" for name, rows in parts.items())


def test_the_tables_are_those_of_the_results(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    written = TABLES.sub(lambda found: found[1] + tables() + found[3], text)
    if request.config.getoption("--refresh"):
        PAGE.write_text(written, encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == written


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.stem)
def test_other_pages_quote_no_measured_figures(page: Path) -> None:
    assert MEASURED.search(page.read_text(encoding="utf-8")) is None


def test_the_page_quotes_figures_in_its_tables_alone() -> None:
    prose = TABLES.sub("", PAGE.read_text(encoding="utf-8")).partition("## Results")[2]

    assert re.findall(r"\d+(?:\.\d+)? (?:times|MiB|us|ms)\b", prose) == []
