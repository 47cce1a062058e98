"""The subcommand `demo`: what admission makes of the examples, and the PodGroups of the controller."""

from pathlib import Path
from typing import Final

import click

from fusioninfer.cluster.text import unified
from fusioninfer.lint import documents, offline
from intent.settings import Settings

EXAMPLES: Final = Path(__file__).parents[1] / "examples"
"""Copies of files in docs/examples, which are installed with the command."""
SHOWN: Final = tuple(EXAMPLES / f"{name}.yaml" for name in ("monolithic", "prefill", "decode"))
COLOURS: Final = {"+": "green", "-": "red"}
DEMO: Final = """\b
Examples:
  fusioninfer demo
"""


@click.command(epilog=DEMO)
def demo() -> None:
    """Show three services before and after admission.

    Needs no cluster.
    """
    read, _ = documents.read_all(map(str, SHOWN))
    composed = offline.compose(read, Settings())
    for document, after in zip(read, composed.objects, strict=False):
        click.secho(f"{Path(document.file).name}: what admission adds beside its record", bold=True)
        lines = unified(document.object, offline.without_record(after), context=len(str(after)))
        for line in lines[3:]:  # above are names and numbers
            click.secho(line, fg=COLOURS.get(line[:1]))
        click.echo()
    click.secho("created by the controller", bold=True)
    gangs = (one for one in composed.objects if one["kind"] == "PodGroup")
    click.echo(documents.write_yaml(gangs), nl=False)
