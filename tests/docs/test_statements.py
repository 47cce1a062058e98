"""Pages for readers and developers say what their sources say."""

import json
import re
import subprocess
from pathlib import Path
from typing import Final

import yaml

from tests.golden.test_golden import composed
from webhook.overlay.record import find

ROOT: Final = Path(__file__).parents[2]
ADR: Final = ROOT / "docs" / "adr"


def test_the_page_of_states_shows_a_record_as_it_is_written() -> None:
    case = ROOT / "tests" / "golden" / "engine-01-documents-example-2"
    block = (ROOT / "docs" / "states.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    shown, record = yaml.safe_load(block), json.loads(find(composed(case).objects[0]))

    assert shown["parts"].items() <= record["parts"].items()
    assert {**shown, "parts": record["parts"]} == record


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
