"""What pages name exists: files and headings of links, files and targets. `make site` checks the site too."""

import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
PAGES: Final = (
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "DEVELOPMENT")),
    *sorted(DOCS.rglob("*.md")),
)
FENCES: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
NAMED: Final = re.compile(r"`((?:docs|manifests)/[^`*]*|[a-z]+\.(?:lock|cdx\.json))`")
TARGET: Final = re.compile(r"(?:`|\$ )make ([a-z0-9-]+)")
NAV: Final = re.compile(r"[\w/-]+\.md")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    text = FENCES.sub("", page.read_text(encoding="utf-8"))
    return frozenset(_slug(heading) for heading in HEADING.findall(text))


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def broken(page: Path) -> list[str]:
    """Return the links of a page that lead nowhere."""
    links = LINK.findall(FENCES.sub("", page.read_text(encoding="utf-8")))
    return [link for link in links if not _leads(page, link)]


def _leads(page: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_and_every_target_that_a_page_names_exists(page: Path) -> None:
    text, makefile = page.read_text(encoding="utf-8"), (ROOT / "Makefile").read_text(encoding="utf-8")

    assert [name for name in NAMED.findall(text) if not (ROOT / name).exists()] == []
    assert {*TARGET.findall(text)} <= {*re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE)}


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """`mkdocs.yml` has a tag of Python's that a safe loader does not read, so its text is searched."""
    listed = set(NAV.findall((ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]))

    assert listed == {page.name for page in DOCS.glob("*.md")}


def test_the_index_names_every_page() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")

    assert {page.name for page in DOCS.glob("*.md")} - {"index.md"} <= {*LINK.findall(text)}
