"""The command as a plugin of kubectl: its name in messages, and what kubectl completes.

kubectl runs `kubectl_complete-fusioninfer` with the words behind `kubectl fusioninfer`, of which the last one
is incomplete. It expects a line for each completion, with its description after a tab, and at the end a
directive (spf13/cobra, `completions.go`; kubernetes/kubectl, `pkg/cmd/plugin/plugin_completion.go`).
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
from click.shell_completion import ShellComplete

PLUGIN: Final = "kubectl-fusioninfer"
NO_SPACE_FILES: Final = 0
NO_FILES: Final = 4
"""Directives: complete with file names, or not."""


def program_name(path: str) -> str:
    """Return the name of the program in messages, from the path that it was run by."""
    return "kubectl fusioninfer" if Path(path).name == PLUGIN else "fusioninfer"


def completions(main: click.Command, words: Sequence[str]) -> str:
    """Return what kubectl expects for the words behind the name of the plugin."""
    *before, incomplete = words or [""]
    found = ShellComplete(main, {}, "kubectl fusioninfer", "").get_completions(list(before), incomplete)
    lines = [f"{one.value}\t{one.help}" if one.help else one.value for one in found if one.type == "plain"]
    files = any(one.type in {"file", "dir"} for one in found)
    return "\n".join([*lines, f":{NO_SPACE_FILES if files else NO_FILES}"])


def complete() -> None:
    """Print the completions of the arguments; run by kubectl."""
    with suppress(KeyboardInterrupt):
        from fusioninfer.cli import main  # noqa: PLC0415 - it imports every subcommand

        click.echo(completions(main, sys.argv[1:]))
