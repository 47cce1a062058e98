"""The subcommand `demo`: what admission makes of the examples, and the PodGroups of the controller."""

from difflib import unified_diff
from pathlib import Path
from typing import Final

import click

from fusioninfer.lint import documents, offline
from intent import Object, yaml
from intent.annotations import EXPANSION
from intent.settings import Settings
from intent.shapes import annotations

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
        click.secho(f"{Path(document.file).name}: what admission adds", bold=True)
        for line in difference(document.object, after):
            click.secho(line, fg=COLOURS.get(line[:1]))
        click.echo()
    click.secho("created by the controller", bold=True)
    gangs = (one for one in composed.objects if one["kind"] == "PodGroup")
    click.echo(documents.write_yaml(gangs), nl=False)


def difference(before: Object, after: Object) -> list[str]:
    """Return the whole object as lines: what was removed after `- `, what was added after `+ `."""
    shown = f"<the record, {len(annotations(after)[EXPANSION])} bytes>"
    old, new = (yaml.dump(one).splitlines() for one in (before, offline.with_record(after, shown)))
    return [f"{line[:1]} {line[1:]}" for line in [*unified_diff(old, new, lineterm="", n=len(new))][3:]]
