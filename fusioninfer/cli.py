"""The command: its subcommands, and those that only print tables."""

from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from catalog.release import VERSION
from fusioninfer import completing
from fusioninfer.cluster.check.command import check
from fusioninfer.cluster.diff.command import diff
from fusioninfer.cluster.eject.command import eject
from fusioninfer.cluster.planning.command import plan
from fusioninfer.cluster.refresh.command import refresh
from fusioninfer.cluster.why.command import why
from fusioninfer.codes import ENTRIES, as_json, as_text, suggestion
from fusioninfer.file_commands import expand, explain, validate
from fusioninfer.importing import import_
from fusioninfer.options import (
    CONFIG,
    echo_json,
    output_option,
    read_settings,
)
from fusioninfer.program import CommandGroup
from fusioninfer.servers import sync, webhook
from intent.errors import suggested

EXAMPLES: Final = """\b
Examples:
  fusioninfer validate service.yaml    # what a cluster would report
  fusioninfer expand service.yaml      # the objects as a cluster would store them
  fusioninfer explain service.yaml     # the reason for each added field
  fusioninfer codes FI308              # the cause and the remedy of a finding

Exit codes: 0 success; 1 findings; 2 an input that cannot be read, or wrong usage.
"""


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
)
@click.version_option(VERSION, prog_name="fusioninfer")
def main() -> None:
    """Turn annotated LeaderWorkerSets into gang-scheduled, multi-node LLM services."""


main.add_command(validate)
main.add_command(expand)
main.add_command(explain)
main.add_command(import_)
main.add_command(plan)
main.add_command(eject)
main.add_command(webhook)
main.add_command(sync)
main.add_command(check)
main.add_command(diff)
main.add_command(refresh)
main.add_command(why)

DEMO: Final = """\b
Examples:
  fusioninfer demo
  fusioninfer demo --plain
"""


@main.command(epilog=DEMO)
@click.option("--plain", is_flag=True, help="Print no colours, even on a terminal.")
def demo(*, plain: bool) -> None:
    """Show three services before and after admission.

    Needs no cluster.
    """
    from fusioninfer import demo as show  # noqa: PLC0415 - only this subcommand needs it

    show.run(plain=plain)


COMPLETION: Final = """\b
Examples:
  eval "$(fusioninfer completion bash)"
  fusioninfer completion zsh > ~/.zfunc/_fusioninfer
  fusioninfer completion fish > ~/.config/fish/completions/fusioninfer.fish

For `kubectl fusioninfer`, kubectl's own completion script completes these words, too.
"""


@main.command(epilog=COMPLETION)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell."""
    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(main, {}, "fusioninfer", "_FUSIONINFER_COMPLETE").source())


CODES: Final = """\b
Examples:
  fusioninfer codes
  fusioninfer codes FI308
  fusioninfer codes fi504 fi601 -o json
"""


@main.command(epilog=CODES)
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=completing.codes)
@output_option("text", "json")
def codes(codes: tuple[str, ...], output: str) -> None:
    """Explain the codes of findings.

    Print the meaning, the usual cause and the remedy of each CODE: of findings, and of rules that add fields.
    Without a CODE, all are listed. Exit code 2: there is no such code.
    """
    for code in codes:
        if code.upper() not in ENTRIES:
            meant = suggested(suggestion(code, ENTRIES))
            raise click.UsageError(f"there is no code {code!r}{meant}")
    entries = [ENTRIES[code.upper()] for code in codes] if codes else list(ENTRIES.values())
    if output == "json":
        echo_json([as_json(one) for one in entries])
        return
    click.echo(as_text(entries))


ENGINES: Final = """\b
Examples:
  fusioninfer engines
  fusioninfer engines --config settings.yaml -o json
"""


@main.command(epilog=ENGINES)
@CONFIG
@output_option("text", "json")
def engines(config: Path | None, output: str) -> None:
    """List the facts about engines and images.

    Images, flags, connectors and models by version, with their sources.
    Rows of the file that the settings name as `engines` come first. Exit code 2: a file cannot be read.
    """
    from fusioninfer import engines as facts  # noqa: PLC0415 - only this subcommand needs it

    tables = facts.tables(read_settings(config).engines)
    if output == "json":
        echo_json(tables)
        return
    for title, rows in tables.items():
        click.secho(title, bold=True)
        click.echo(facts.columns(rows))
