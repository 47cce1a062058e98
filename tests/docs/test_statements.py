"""Lists for readers and developers say what their sources say, and say it once."""

import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ADR: Final = ROOT / "docs" / "adr"


def test_the_changelog_has_each_entry_once() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    entries = re.findall(r"^- (.*?)(?=^- |^#|\Z)", text, flags=re.MULTILINE | re.DOTALL)

    found = Counter(" ".join(entry.split()) for entry in entries)

    assert len(found) > 10
    assert [entry for entry, count in found.items() if count > 1] == []


def test_every_record_that_is_cited_exists() -> None:
    command = ("git", "grep", "-hoE", r"(ADR|docs/adr/)[ 0]*[0-9]+")
    cited = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    numbers = {int(re.sub(r"\D", "", each)) for each in cited if each}
    records = {int(path.name[:4]) for path in ADR.glob("0*.md")}

    assert len(numbers) > 10
    assert numbers - records == set()


def test_every_file_that_the_page_for_developers_names_exists() -> None:
    page = (ROOT / "DEVELOPMENT.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:[a-z_]+/)+[a-z_.]*)`", page)
    folders = [ROOT / folder for folder in ("", "webhook", "sync", "tests")]

    assert [path for path in paths if not any((folder / path).exists() for folder in folders)] == []


def test_the_index_of_decision_records_lists_each_with_its_title() -> None:
    records = sorted(ADR.glob("0*.md"))
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in records]

    listed = re.findall(
        r"^- \[(\d+)\]\((.*?)\)\. ([^(\n]*[^(\n ])", (ADR / "README.md").read_text(), re.MULTILINE
    )

    assert [(f"{number}. {title}", name) for number, name, title in listed] == [
        (title, path.name) for title, path in zip(titles, records, strict=True)
    ]
