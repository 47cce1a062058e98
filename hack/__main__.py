"""Write or compare generated files: `python -m hack generate|verify [NAME]...`; without NAME, Python's."""

import sys
from pathlib import Path

import click

from hack.generated import GENERATORS, named, report, write
from hack.pages.blocks import write_built
from hack.rooms import crowded, table

NAMES = click.argument(
    "names", nargs=-1, metavar="[NAME]...", type=click.Choice([row.name for row in GENERATORS])
)


@click.group()
def main() -> None:
    """Write the generated files of the tree, or compare them with what is there."""


@main.command()
@NAMES
def generate(names: tuple[str, ...]) -> None:
    """Write the files that differ, and print their paths."""
    for row in named(names):
        for path in write(row.texts()):
            click.echo(path)


@main.command()
@NAMES
def verify(names: tuple[str, ...]) -> None:
    """Print what differs, without NAME also the lines of each room, and exit with 1 if anything is wrong."""
    found = [one for one in (report(named(names)), *(() if names else crowded())) if one]
    click.echo("\n".join([*(() if names else (table(),)), *found]))
    sys.exit(bool(found))


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
def pages(folder: Path) -> None:
    """Write the pages with long tables into FOLDER, for the build of the site."""
    write_built(folder)


if __name__ == "__main__":
    main()
