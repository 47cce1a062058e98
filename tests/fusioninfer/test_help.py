"""The help: each subcommand has examples, and each example can be run."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest
from click.testing import CliRunner

from fusioninfer.cli import demo, main, program

FILES: Final = ("service.yaml", "prefill.yaml", "decode.yaml")
"""The files of the examples, as in `directory`."""
RUN: Final = ("validate", "expand", "explain", "codes", "demo", "engines", "completion")
"""The subcommands whose examples are run; others need a cluster, or do not end."""


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command with its words; `main` has none."""
    yield (), main
    stack: list[tuple[tuple[str, ...], click.Command]] = [
        ((name,), program.load(name)) for name in program.SUBCOMMANDS
    ]
    while stack:
        words, command = stack.pop(0)
        yield words, command
        if isinstance(command, click.Group):
            stack += [((*words, name), below) for name, below in command.commands.items()]


def examples(command: click.Command) -> list[str]:
    """Return the lines of the examples in the help of a command."""
    shown = CliRunner().invoke(main, [*path_of(command), "--help"], terminal_width=200).output
    _, heading, after = shown.partition("Examples:\n")
    lines = after.partition("\n\n")[0].splitlines()
    return [line.strip() for line in lines if heading and line.strip()]


def path_of(command: click.Command) -> tuple[str, ...]:
    return next(words for words, one in commands() if one is command)


def words_of(example: str) -> list[str]:
    """Return the words behind `fusioninfer` of an example, without pipes, redirections and comments."""
    return shlex.split(re.split("[|>)#]", example.partition("fusioninfer ")[2])[0])


EACH: Final = [(words, example) for words, command in commands() for example in examples(command)]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the files of the examples in the working directory."""
    (tmp_path / "manifests").mkdir()
    for name, source in zip(FILES, ("monolithic.yaml", "prefill.yaml", "decode.yaml"), strict=True):
        text = (demo.EXAMPLES / source).read_text()
        (tmp_path / name).write_text(text)
        (tmp_path / "manifests" / name).write_text(text)
    (tmp_path / "settings.yaml").write_text("launcher: auto\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", [words for words, _ in commands()], ids=" ".join)
def test_every_help_has_examples(words: tuple[str, ...]) -> None:
    assert [example for path, example in EACH if path == words] != []


@pytest.mark.parametrize(("path", "example"), EACH, ids=[example for _, example in EACH])
def test_the_example_can_be_parsed_and_run(directory: Path, path: tuple[str, ...], example: str) -> None:
    words = words_of(example)

    assert tuple(words[: len(path)]) == path
    if words[0] in RUN:
        result = CliRunner().invoke(main, words, input=(directory / FILES[0]).read_text())
        assert (result.exit_code, result.output != "") == (0, True), result.output
        return
    command: click.Command = main
    while words and isinstance(command, click.Group):
        command = program.load(words.pop(0))
    assert command.make_context("fusioninfer", words, click.Context(main, **main.context_settings)).params


@pytest.mark.parametrize("name", program.SUBCOMMANDS)
def test_the_summary_of_a_subcommand_is_the_first_clause_of_its_help(name: str) -> None:
    first = re.split("[:,] ", program.load(name).get_short_help_str(limit=200))[0]

    assert program.SUBCOMMANDS[name].summary == f"{first.removesuffix('.')}."


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_the_version_and_the_help_load_no_subcommand(word: str) -> None:
    shown = "import sys; from fusioninfer.cli import main; main(standalone_mode=False, args=sys.argv[1:]); "
    code = f"{shown}print(*(name.partition('.')[0] for name in sys.modules))"

    done = subprocess.run([sys.executable, "-c", code, word], capture_output=True, text=True, check=True)

    loaded = {*done.stdout.splitlines()[-1].split()}
    assert not loaded & {"lint", "webhook", "sync", "intent", "pydantic", "kubernetes", "aiohttp", "yaml"}
