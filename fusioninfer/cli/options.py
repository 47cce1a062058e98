"""Options that several subcommands share, and how settings and errors are handled."""

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import click

from catalog.codes import CODES
from fusioninfer import settings as settings_file
from fusioninfer.lint.documents import UnreadableFileError, to_json
from fusioninfer.lint.offline import Composition
from fusioninfer.lint.report import UNREAD, finding_lines
from intent.errors import printable
from intent.names import SYSTEM_NAMESPACE, is_label

OK: Final = 0
"""The exit code if nothing is wrong."""
FINDINGS: Final = 1
"""The exit code if there is an error, or a warning that counts as one."""
UNREADABLE: Final = 2
"""The exit code if an input is missing or cannot be read, and of errors of usage."""

CommandFunction = Callable[..., Any]
Decorator = Callable[[CommandFunction], CommandFunction]


def as_namespace(value: str) -> str:
    """Return the name of a namespace. What cannot be one would name something else in a path of the API."""
    if value and not is_label(value):
        raise click.BadParameter(f"{value!r} is no name of a namespace: use lowercase letters, digits and -")
    return value


def namespace_option(of: str) -> Decorator:
    """Return the option `--namespace`, with what it is the namespace of."""
    return click.option("-n", "--namespace", type=as_namespace, metavar="NAME", default="", help=of)


NAMESPACE: Final = namespace_option("The namespace of objects without one.")
SYSTEM: Final = click.option(
    "--system-namespace",
    type=as_namespace,
    metavar="NAME",
    default=SYSTEM_NAMESPACE,
    show_default=True,
    help="The namespace of FusionInfer, whose templates serve all namespaces.",
)
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


def output_option(*formats: str, of: str = "The format of the output.") -> Decorator:
    """Return the option `--output` with some formats; the first one is the default."""
    choice = click.Choice(formats)
    return click.option("-o", "--output", type=choice, default=formats[0], show_default=True, help=of)


# --- files -------------------------------------------------------------------------------------------


def FILES(command: CommandFunction) -> CommandFunction:  # noqa: N802 - used as a decorator, like the options
    """Add files, as arguments or with -f, and -R; the command gets them as `files` and `recursive`."""

    @click.argument("words", nargs=-1, metavar="FILE...", type=click.Path(allow_dash=True))
    @click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        metavar="FILE",
        type=click.Path(allow_dash=True),
        help="A file, a directory, or - for standard input, like the arguments. May be repeated.",
    )
    @click.option("-R", "--recursive", is_flag=True, help="Read the directories below a directory, too.")
    @wraps(command)
    def called(*, words: tuple[str, ...], files: tuple[str, ...], **others: Any) -> Any:
        named = (*files, *words)
        if not named or "" in named:  # an unset variable of a shell is no directory
            path = click.get_current_context().command_path
            raise click.UsageError(
                f"name a file, a directory, or - for standard input, for example: {path} service.yaml"
            )
        return command(files=named, **others)

    return called


# --- findings ----------------------------------------------------------------------------------------


def _codes(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    """Parse the codes of --ignore: a list, separated by commas, in any case."""
    named = [code.strip().upper() for value in values for code in value.split(",")]
    for code in named:
        if code == UNREAD:
            raise click.BadParameter(f"{UNREAD} cannot be ignored: do not name the file instead")
        if code not in CODES:
            raise click.BadParameter(f"{code!r} is no code of `fusioninfer codes`")
    return frozenset(named)


def SELECTION(command: CommandFunction) -> CommandFunction:  # noqa: N802 - used as a decorator, like the options
    """Add --ignore and --fail-on-warnings; the command gets them as `selection`."""

    @click.option(
        "--ignore",
        multiple=True,
        metavar="CODE[,CODE]",
        callback=_codes,
        help="Neither print nor count findings with this code. May be repeated.",
    )
    @click.option("--fail-on-warnings", is_flag=True, help="Exit with 1 for warnings, too.")
    @wraps(command)
    def called(*, ignore: frozenset[str], fail_on_warnings: bool, **others: Any) -> Any:
        return command(selection=Selection(ignore, fail_on_warnings), **others)

    return called


class Selection(NamedTuple):
    """Which findings count, and which make the command fail."""

    ignored: frozenset[str]
    fail_on_warnings: bool

    def code(self, found: Composition) -> int:
        """Return the exit code of findings."""
        if found.unread:
            return UNREADABLE
        return FINDINGS if found.count("error") or (found.found and self.fail_on_warnings) else OK


def require(found: Composition, selection: Selection) -> None:
    """Print findings to standard error, and exit if the selection says so. Errors cannot be ignored."""
    found = found.without(selection.ignored, errors=False)
    for line in finding_lines(found):
        click.echo(line, err=True)
    print_errors(found.unread)
    if code := selection.code(found):
        sys.exit(code)


# --- settings and errors -----------------------------------------------------------------------------


def read_settings(config: Path | None) -> Any:
    """Read the settings file; exit if it cannot be read."""
    try:
        return settings_file.read(config)
    except UnreadableFileError as error:
        exit_unreadable(error)


def echo_json(value: Any, *, err: bool = False) -> None:
    """Print a value as JSON."""
    click.echo(to_json(value), err=err)


def exit_unreadable(*errors: Exception) -> NoReturn:
    """Print why files cannot be read, and exit."""
    print_errors(errors)
    sys.exit(UNREADABLE)


def print_errors(errors: Iterable[Exception]) -> None:
    """Print errors to standard error, one a line."""
    for error in errors:
        click.secho(f"error: {printable(str(error))}", fg="red", err=True)
