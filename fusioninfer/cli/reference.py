"""The subcommands that print tables and scripts: `codes`, `engines` and `completion`."""

from pathlib import Path
from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from fusioninfer import engines as facts
from fusioninfer.cli.options import CONFIG, echo_json, output_option, read_settings
from fusioninfer.codes import ENTRIES, as_json, as_text
from plan.show import aligned

SHELLS: Final = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
COMPLETION: Final = """\b
Examples:
  eval "$(fusioninfer completion bash)"
  fusioninfer completion zsh > ~/.zfunc/_fusioninfer
  fusioninfer completion fish > ~/.config/fish/completions/fusioninfer.fish
"""


@click.command(epilog=COMPLETION)
@click.argument("shell", type=click.Choice([*SHELLS]))
def completion(shell: str) -> None:
    """Print the completion script of a shell."""
    main = click.get_current_context().find_root().command
    click.echo(SHELLS[shell](main, {}, "fusioninfer", "_FUSIONINFER_COMPLETE").source())


CODES: Final = """\b
Examples:
  fusioninfer codes
  fusioninfer codes FI308
  fusioninfer codes fi504 fi601 -o json
"""


@click.command(epilog=CODES)
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@output_option("text", "json")
def codes(codes: tuple[str, ...], output: str) -> None:
    """Explain the codes of findings.

    Print the meaning and the remedy of each CODE, perhaps its cause: of findings, and of rules that add
    fields. Without a CODE, all are listed. Exit code 2: there is no such code.
    """
    for code in codes:
        if code.upper() not in ENTRIES:
            raise click.UsageError(f"there is no code {code!r}: without a code, all are listed")
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


@click.command(epilog=ENGINES)
@CONFIG
@output_option("text", "json")
def engines(config: Path | None, output: str) -> None:
    """List the facts about engines and images.

    Images, flags, connectors and models by version, with their sources.
    Rows of the file that the settings name as `engines` come first. Exit code 2: a file cannot be read.
    """
    tables = facts.tables(read_settings(config).engines)
    if output == "json":
        echo_json(tables)
        return
    for title, rows in tables.items():
        click.secho(title, bold=True)
        lines = aligned([tuple(rows[0]), *(tuple(row.values()) for row in rows)], numbers=0)
        click.echo("".join(f"{line}\n" for line in lines))
