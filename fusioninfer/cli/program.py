"""The command as a program: exit codes of errors and interrupts, colours, and the sections of its help."""

import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

INTERRUPTED: Final = 130
FAILED: Final = 2
"""The exit code of an error of the system, or of ours: not 1, which stands for findings."""
INTERNAL: Final = "internal error"
FILES: Final = "Files, without a cluster"
CLUSTER: Final = "A cluster"
REFERENCE: Final = "Reference"
SERVERS: Final = "Servers"


class Subcommand(NamedTuple):
    """A subcommand: the section of the help that it is in, its module, and what it does."""

    section: str
    module: str
    summary: str


SUBCOMMANDS: Final[Mapping[str, Subcommand]] = {
    "validate": Subcommand(FILES, "files", "Check files as a cluster would."),
    "expand": Subcommand(FILES, "files", "Print objects as a cluster would store them."),
    "explain": Subcommand(FILES, "files", "Explain each field that admission sets."),
    "import": Subcommand(FILES, "importing", "Turn objects of other systems into ours."),
    "plan": Subcommand(FILES, "plan", "Show which groups start with how many nodes."),
    "demo": Subcommand(FILES, "demo", "Show three services before and after admission."),
    "check": Subcommand(CLUSTER, "check", "Check that a cluster has what FusionInfer needs."),
    "why": Subcommand(CLUSTER, "why", "Say why a service does not serve."),
    "diff": Subcommand(CLUSTER, "diff", "Show what applying files would change in the cluster."),
    "refresh": Subcommand(CLUSTER, "refresh", "Take changed InferenceTemplates."),
    "eject": Subcommand(CLUSTER, "eject", "Print a service as plain manifests."),
    "codes": Subcommand(REFERENCE, "reference", "Explain the codes of findings."),
    "engines": Subcommand(REFERENCE, "reference", "List the facts about engines and images."),
    "completion": Subcommand(REFERENCE, "reference", "Print the completion script of a shell."),
    "webhook": Subcommand(SERVERS, "servers", "Run the webhook."),
    "sync": Subcommand(SERVERS, "servers", "Run the controller."),
}
"""In the order of the help. The summaries stand here too, so that `--help` loads no subcommand."""
DEEPEST: Final = 5
"""The number of places of an internal error that are printed."""


def load(name: str) -> click.Command:
    """Import a subcommand."""
    module = import_module(f"fusioninfer.cli.{SUBCOMMANDS[name].module}")
    found: click.Command = getattr(module, "import_" if name == "import" else name)
    return found


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
            if not file:
                _discard_output()
            if not isinstance(error, BrokenPipeError):
                click.secho(f"error: {file}{error.strerror or error}", fg="red", err=True)
            code = FAILED
        except Exception as error:  # noqa: BLE001 - no input shows a traceback
            click.secho(f"{INTERNAL}: {type(error).__name__}: {error}", fg="red", err=True)
            click.echo(f"at {_origin(error)}", err=True)
            click.echo("This is a bug: report it with the command and its input.", err=True)
            code = FAILED
        raise click.exceptions.Exit(code)

    def __init__(self, *given: Any, **named: Any) -> None:
        """Name the subcommands, which are imported when they run."""
        super().__init__(*given, **named)
        self.commands = {name: click.Command(name) for name in SUBCOMMANDS}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand."""
        return load(cmd_name) if cmd_name in SUBCOMMANDS else super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the subcommands, by section."""
        for title in (FILES, CLUSTER, REFERENCE, SERVERS):
            with formatter.section(title):
                rows = SUBCOMMANDS.items()
                formatter.write_dl([(name, row.summary) for name, row in rows if row.section == title])


def _discard_output() -> None:
    """Let standard output lead nowhere: it is closed or full, and Python writes what is left at its end."""
    with suppress(OSError, AttributeError):  # no file, as in tests; no stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _origin(error: BaseException) -> str:
    """Return the last places of a traceback, the innermost first."""
    frames = traceback.extract_tb(error.__traceback__)[: -DEEPEST - 1 : -1]
    return ", ".join(f"{'/'.join(Path(one.filename).parts[-3:])}:{one.lineno} {one.name}" for one in frames)
