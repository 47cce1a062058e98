"""DEVELOPMENT.md names files and targets that exist."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "DEVELOPMENT.md").read_text(encoding="utf-8")
PATHS: Final = sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_.]*)`", PAGE)))
TARGETS: Final = sorted(set(re.findall(r"`make ([a-z-]+)`", PAGE)))


def test_every_file_that_the_page_names_exists() -> None:
    folders = [ROOT / folder for folder in ("", "webhook", "sync", "tests")]

    assert [path for path in PATHS if not any((folder / path).exists() for folder in folders)] == []


def test_every_target_that_the_page_names_can_be_made() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert set(TARGETS) <= set(targets)


def test_the_index_of_decision_records_lists_each_with_its_title() -> None:
    folder = ROOT / "docs" / "adr"
    records = sorted(folder.glob("0*.md"))
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in records]

    listed = re.findall(
        r"^- \[(\d+)\]\((.*?)\)\. ([^(\n]*[^(\n ])", (folder / "README.md").read_text(), re.MULTILINE
    )

    assert [(f"{number}. {title}", name) for number, name, title in listed] == [
        (title, path.name) for title, path in zip(titles, records, strict=True)
    ]
