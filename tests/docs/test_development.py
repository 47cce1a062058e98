"""DEVELOPMENT.md names files that exist; the index of decision records is whole."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "DEVELOPMENT.md").read_text(encoding="utf-8")
PATHS: Final = sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_.]*)`", PAGE)))


def test_every_file_that_the_page_names_exists() -> None:
    folders = [ROOT / folder for folder in ("", "webhook", "sync", "tests")]

    assert [path for path in PATHS if not any((folder / path).exists() for folder in folders)] == []


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
