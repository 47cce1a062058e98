"""Lists for readers say what their sources say, and say it once."""

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
