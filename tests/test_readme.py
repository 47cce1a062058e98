"""The README says what is true: the table of annotations, and the commands that it names."""

import re
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from intent.annotations import KEYS

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
TABLE: Final = re.compile(r"(<!-- annotations[^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)


def annotations() -> str:
    """Write the table of annotations."""
    rows = (f"| `{key.name}` | {key.value} | {key.default} |\n" for key in KEYS)
    return "| key | value | default |\n|---|---|---|\n" + "".join(rows)


def test_the_table_of_annotations_is_that_of_the_code(request: pytest.FixtureRequest) -> None:
    text = README.read_text(encoding="utf-8")
    written = TABLE.sub(lambda found: found[1] + annotations() + found[3], text)
    if request.config.getoption("--refresh"):
        README.write_text(written, encoding="utf-8")

    assert README.read_text(encoding="utf-8") == written


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"make ([a-z-]+)", README.read_text(encoding="utf-8"))))
)
def test_every_target_that_the_readme_names_can_be_made(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(
    "verb", sorted(set(re.findall(r"`fusioninfer ([a-z]+)", README.read_text(encoding="utf-8"))))
)
def test_every_verb_that_the_readme_names_exists(verb: str) -> None:
    assert CliRunner().invoke(main, [verb, "--help"]).exit_code == 0


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:docs|manifests)/[^`*]*)`", README.read_text(encoding="utf-8"))))
)
def test_every_file_that_the_readme_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()
