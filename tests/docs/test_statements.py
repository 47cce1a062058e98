"""Lists for readers say what their sources say, and say it once."""

import re
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


def test_the_list_of_records_names_what_supersedes_each() -> None:
    listed = {
        int(number): int(other)
        for number, other in re.findall(
            r"^- \[(\d+)\].*\(superseded by (\d+)", (ADR / "README.md").read_text(), re.MULTILINE
        )
    }
    said = {
        int(path.name[:4]): int(found[1])
        for path in ADR.glob("0*.md")
        if (found := re.search(r"^Superseded by \[ADR (\d+)\]", path.read_text(), re.MULTILINE))
    }

    assert said
    assert listed == said
