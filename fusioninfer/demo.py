"""The demo: what admission makes of the examples, and the PodGroups that the controller would create."""

import sys
from difflib import unified_diff
from pathlib import Path
from typing import Final

import click
import orjson

from fusioninfer.lint import documents, offline
from intent import Object, yaml
from intent.annotations import EXPANSION
from intent.settings import Settings
from webhook.check import check
from webhook.expand import expanded

EXAMPLES: Final = Path(__file__).parent / "examples"
"""Copies of files in docs/examples, which are installed with the command."""
SHOWN: Final = tuple(EXAMPLES / f"{name}.yaml" for name in ("monolithic", "prefill", "decode"))
COLOURS: Final = {"+": "green", "-": "red"}


def run() -> None:
    """Show the examples."""
    read = documents.read([str(file) for file in SHOWN])
    for document in read:
        before, after = document.object, expanded(document.object)
        name = Path(document.file).name
        click.secho(f"{name}: what admission adds", bold=True)
        for line in difference(before, after):
            click.secho(line, fg=COLOURS.get(line[:1]))
        for error in check(after, None, Settings()):
            click.echo(f"Warning: {error}")
        sizes = len(orjson.dumps(before)), len(orjson.dumps(after))
        click.echo(f"admitted: {sizes[0]} bytes became {sizes[1]}\n")
    made = offline.compose(read, Settings()).objects
    click.secho("created by the controller", bold=True)
    click.echo(documents.write_yaml(one for one in made if one.get("kind") == "PodGroup").rstrip())
    click.echo(f"\n{len(read)} objects admitted.")
    sys.stdout.flush()


def difference(before: Object, after: Object) -> list[str]:
    """Return the whole object as lines: what was removed after `- `, what was added after `+ `."""
    old, new = (yaml.dump(one).splitlines() for one in (before, _shortened(after)))
    return [f"{line[:1]} {line[1:]}" for line in [*unified_diff(old, new, lineterm="", n=len(new))][3:]]


def _shortened(after: Object) -> Object:
    """Replace the record with its length."""
    notes = dict(after["metadata"]["annotations"])
    notes[EXPANSION] = f"<the record, {len(notes[EXPANSION])} bytes>"
    return after | {"metadata": after["metadata"] | {"annotations": notes}}
