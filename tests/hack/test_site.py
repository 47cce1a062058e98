"""What the site adds to the pages."""

import re
from pathlib import Path

import pytest

from hack.pages.blocks import BUILT, write_built
from hack.site.codes import linked


@pytest.mark.parametrize(
    ("html", "made"),
    [
        ("<p>no (FI307), no</p>", '<p>no (<a href="../codes/#fi307">FI307</a>), no</p>'),
        (
            "<pre><code>FI307</code></pre>FI308",
            '<pre><code>FI307</code></pre><a href="../codes/#fi308">FI308</a>',
        ),
        ('<a href="x">FI307</a><h2 id="fi307">FI307</h2>', '<a href="x">FI307</a><h2 id="fi307">FI307</h2>'),
        ("FI3070", "FI3070"),
    ],
    ids=["text", "example", "link and heading", "no code"],
)
def test_a_code_in_a_text_leads_to_its_page(html: str, made: str) -> None:
    assert linked(html, "../codes/") == made


def test_the_site_gets_each_page_with_its_tables(tmp_path: Path) -> None:
    write_built(tmp_path)

    pages = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert pages.keys() == {Path(page).name for page in BUILT}
    assert [name for name, text in pages.items() if "The site has" in text] == []


@pytest.mark.parametrize("page", BUILT)
def test_every_row_that_the_site_makes_says_what_it_is_about(page: str) -> None:
    """Of codes, conditions and reasons every cell has a text; others have optional columns on the right."""
    is_full = page in {"docs/codes.md", "docs/status.md", "docs/troubleshooting.md"}
    empty = re.compile(r"\|(.*\|)?\s*\|" if is_full else r"\|([^|]*\|)?\s*\|")

    lines = "\n".join(BUILT[page]().values()).splitlines()

    assert [line for line in lines if empty.match(line)] == []
