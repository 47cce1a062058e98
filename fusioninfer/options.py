"""What several verbs share: options, and how settings are read."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from fusioninfer import settings as settings_file
from fusioninfer.documents import Unreadable

UNREADABLE: Final = 2
"""The exit code of a file that cannot be read, or that is missing."""

FILES: Final = click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="A file, a directory, or - for standard input. May be given more than once.",
)
NAMESPACE: Final = click.option(
    "-n", "--namespace", default="", help="The namespace of objects that name none."
)
CONFIG: Final = click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="The settings file of the servers."
)


def read_settings(config: Path | None) -> Any:
    """Read the settings file; end where it cannot be read."""
    try:
        return settings_file.read(config)
    except Unreadable as error:
        unreadable(error)


def unreadable(*errors: Exception) -> NoReturn:
    """Say why something cannot be read, and end."""
    tell(errors)
    sys.exit(UNREADABLE)


def tell(errors: Iterable[Exception]) -> None:
    """Say why something cannot be read, a line each."""
    for error in errors:
        click.secho(f"error: {error}", fg="red", err=True)
