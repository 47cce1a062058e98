"""Measured figures are in one place: docs/performance.md, made from the JSON of the benchmark."""

import re
from pathlib import Path
from typing import Final

import pytest

from hack.markdown import BLOCK

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = DOCS / "performance.md"
MEASURED: Final = re.compile(r"CPU of a (CREATE|full expansion)|relative to `json\.loads`|peak memory")
"""Words of figures that belong to that page."""
OTHERS: Final = sorted({*DOCS.glob("*.md"), DOCS.parent / "README.md"} - {PAGE})


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.stem)
def test_other_pages_quote_no_measured_figures(page: Path) -> None:
    assert MEASURED.search(page.read_text(encoding="utf-8")) is None


def test_the_page_quotes_figures_in_its_tables_alone() -> None:
    prose = BLOCK.sub("", PAGE.read_text(encoding="utf-8")).partition("## Results")[2]

    assert re.findall(r"\d+(?:\.\d+)? (?:times|MiB|us|ms)\b", prose) == []
