"""Options that several subcommands share, and how settings and errors are handled."""

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from fusioninfer import settings as settings_file
from fusioninfer.documents import UnreadableFileError

UNREADABLE: Final = 2
"""The exit code if a file is missing or cannot be read."""

_FILES: Final = partial(
    click.option,
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="A file, a directory, or - for standard input. May be repeated.",
)
FILES: Final = _FILES(required=True)
FILES_OR_NAMES: Final = _FILES(required=False)
NAMESPACE: Final = click.option("-n", "--namespace", default="", help="The namespace of objects without one.")
KUBECONFIG: Final = click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False),
    help="Default: the service account in a pod; otherwise $KUBECONFIG, or the file in the home directory.",
)
CONTEXT: Final = click.option("--context", help="The context of the kubeconfig to use.")
CONFIG: Final = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The settings file that the servers use.",
)


def read_settings(config: Path | None) -> Any:
    """Read the settings file; exit if it cannot be read."""
    try:
        return settings_file.read(config)
    except UnreadableFileError as error:
        exit_unreadable(error)


def exit_unreadable(*errors: Exception) -> NoReturn:
    """Print why files cannot be read, and exit."""
    print_errors(errors)
    sys.exit(UNREADABLE)


def print_errors(errors: Iterable[Exception]) -> None:
    """Print errors to standard error, one a line."""
    for error in errors:
        click.secho(f"error: {error}", fg="red", err=True)
