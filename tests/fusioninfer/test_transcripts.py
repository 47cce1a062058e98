"""The help of every subcommand, and invocations with what they print: `make generate NAME=transcripts`."""

from pathlib import Path

import pytest

from fusioninfer.cli.program import SUBCOMMANDS
from hack.transcripts import FOLDER, PROMPT, transcript

FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_command_prints_what_the_transcript_shows(path: Path) -> None:
    assert transcript(path) == path.read_text("utf-8")


def test_the_help_of_every_subcommand_is_shown() -> None:
    shown = (FOLDER / "help.txt").read_text("utf-8").splitlines()

    assert {f"{PROMPT} {name} --help" for name in SUBCOMMANDS} <= {*shown}
