"""docs/plan.md shows what the command prints."""

import shlex
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "plan.md"


def shown() -> dict[str, str]:
    """Return the output of each command of the page, as it stands there."""
    blocks = PAGE.read_text(encoding="utf-8").split("```console\n$ ")[1:]
    found = (block.partition("\n```")[0].partition("\n") for block in blocks)
    return {command: output for command, _, output in found}


@pytest.mark.parametrize("command", shown())
def test_a_command_of_the_page_prints_what_it_shows(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words, _, file = command.partition(" > ")

    result = CliRunner().invoke(main, shlex.split(words)[1:])

    assert result.exit_code in {0, 1}
    assert file or result.stdout.rstrip("\n") == shown()[command]


def test_the_page_has_commands() -> None:
    assert len(shown()) == 3
