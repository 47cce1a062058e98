"""The command as a program: exit codes of errors and interrupts, colours, and the sections of its help."""

import os
import re
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

INTERRUPTED: Final = 130
FAILED: Final = 2
"""The exit code of an error of the system, or of ours: not 1, which stands for findings."""
INTERNAL: Final = "internal error"
DEBUG: Final = "FUSIONINFER_DEBUG"
"""The environment variable with which an internal error prints its traceback."""
SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Files, without a cluster": ("validate", "expand", "explain", "import", "plan", "demo"),
    "A cluster": ("check", "why", "diff", "refresh", "eject"),
    "Reference": ("codes", "engines", "completion"),
    "Servers": ("webhook", "sync"),
}
"""The subcommands by section of the help; others are in a section of their own."""
DEEPEST: Final = 5
"""The number of places of an internal error that are printed."""


class CommandGroup(click.Group):
    """A group of subcommands of which each error has an exit code and a message, and no traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand."""
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except KeyboardInterrupt:
            click.echo(err=True)  # the blank line ends the ^C of the terminal
            code = INTERRUPTED
        except OSError as error:
            file = f"{error.filename}: " if error.filename else ""
            click.secho(f"error: {file}{error.strerror or error}", fg="red", err=True)
            code = FAILED
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            click.secho(f"{INTERNAL}: {type(error).__name__}: {error}", fg="red", err=True)
            click.echo(f"at {_origin(error)}", err=True)
            click.echo(
                f"This is a bug: report it with the command and its input. {DEBUG}=1 prints more.", err=True
            )
            code = FAILED
        raise click.exceptions.Exit(code)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands, by section."""
        named = {name for names in SECTIONS.values() for name in names}
        others = tuple(name for name in self.list_commands(ctx) if name not in named)
        for title, names in {**SECTIONS, "Others": others}.items():
            found = [(name, self.commands[name]) for name in names if name in self.commands]
            if found:
                with formatter.section(title):
                    formatter.write_dl([(name, _summary(command)) for name, command in found])


def _summary(command: click.Command) -> str:
    """Return the first clause of the help of a subcommand."""
    return re.split("[:,] ", command.get_short_help_str(limit=200))[0].removesuffix(".") + "."


def _origin(error: BaseException) -> str:
    """Return the last places of a traceback, the innermost first."""
    frames = traceback.extract_tb(error.__traceback__)[: -DEEPEST - 1 : -1]
    return ", ".join(f"{'/'.join(Path(one.filename).parts[-3:])}:{one.lineno} {one.name}" for one in frames)
