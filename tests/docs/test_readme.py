"""The README says what is true: what it shows of an example, and the commands that it names."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from fusioninfer.cli import main
from fusioninfer.lint import documents, offline
from intent.settings import Settings
from tests.builders.documents import read_files

ROOT: Final = Path(__file__).parents[2]
README: Final = ROOT / "README.md"


def blocks(chapter: str) -> list[Any]:
    """Return the objects in the YAML of a chapter of the README."""
    text = README.read_text(encoding="utf-8").partition(f"## {chapter}\n")[2].partition("\n## ")[0]
    return [
        one
        for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
        for one in yaml.safe_load_all(block)
    ]


def is_part(small: Any, whole: Any) -> bool:
    """Return whether a shortened object is contained: fields of a map, items of a list of maps in order."""
    if isinstance(small, dict) and isinstance(whole, dict):
        return all(key in whole and is_part(value, whole[key]) for key, value in small.items())
    if isinstance(small, list) and isinstance(whole, list) and any(isinstance(one, dict) for one in small):
        rest = iter(whole)
        return all(any(is_part(one, other) for other in rest) for one in small)
    return bool(small == whole)


EXAMPLE: Final = ROOT / "docs" / "examples" / "vllm-two-nodes.yaml"


def test_the_answer_of_the_service_is_that_of_the_quickstart() -> None:
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")

    (answer,) = re.findall(r'^{"object".*', README.read_text(encoding="utf-8"), re.MULTILINE)

    assert answer in page


def test_before_and_after_are_what_the_command_prints() -> None:
    read = read_files([str(EXAMPLE)])
    printed = [read[0].object, *offline.compose(read, Settings()).objects]

    shown = blocks("What you see")

    assert [is_part(*pair) for pair in zip(shown, printed, strict=True)] == [True] * 4


def test_the_lines_of_the_examples_are_counted() -> None:
    files = [ROOT / "docs" / "examples" / f"{name}.yaml" for name in ("prefill", "decode")]
    written = sum(not line.startswith("#") for file in files for line in file.read_text().splitlines())
    stored = offline.compose(read_files([str(file) for file in files]), Settings()).objects

    counted = re.findall(r"is (\d+) lines that you write, and (\d+) that", README.read_text(encoding="utf-8"))

    assert counted == [(str(written), str(len(documents.write_yaml(stored).splitlines())))]


@pytest.mark.parametrize(
    "verb", sorted(set(re.findall(r"`fusioninfer ([a-z]+)", README.read_text(encoding="utf-8"))))
)
def test_every_verb_that_the_readme_names_exists(verb: str) -> None:
    assert CliRunner().invoke(main, [verb, "--help"]).exit_code == 0
