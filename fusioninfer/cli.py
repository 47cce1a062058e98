"""The command. Each subcommand reads files and settings, calls one function, and sets the exit code."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click
import orjson

from catalog.codes import CODES
from fusioninfer import __version__, documents, offline
from fusioninfer.documents import UnreadableFileError
from fusioninfer.ejecting import eject
from fusioninfer.inspecting import check
from fusioninfer.offline import Composition, Found
from fusioninfer.options import (
    CONFIG,
    FILES,
    NAMESPACE,
    UNREADABLE,
    exit_unreadable,
    print_errors,
    read_settings,
)
from fusioninfer.servers import sync, webhook

OK: Final = 0
DENIED: Final = 1
UNREAD: Final = "FI905"
COLOURS: Final = {"error": "red", "warning": "yellow"}


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="fusioninfer")
def main() -> None:
    """Turn annotated LeaderWorkerSets into gang-scheduled, multi-node LLM services."""


main.add_command(webhook)
main.add_command(sync)
main.add_command(eject)
main.add_command(check)


@main.command()
@FILES
@NAMESPACE
@CONFIG
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@click.option("--admission-only", is_flag=True, help="Omit the objects that the controller would create.")
def expand(
    files: tuple[str, ...], namespace: str, config: Path | None, output: str, *, admission_only: bool
) -> None:
    """Print every object as admission would store it, then the objects that the controller would create.

    Exit code 0: printed; 1: an object would be denied, so nothing is printed; 2: a file cannot be read.
    """
    made, problems = _composed(files, namespace, config, admission_only=admission_only)
    _print_findings(made, sys.stderr)
    if problems:
        exit_unreadable(*problems)
    if made.denied:
        sys.exit(DENIED)
    objects = list(made.objects)
    click.echo(documents.write_yaml(objects) if output == "yaml" else documents.write_json(objects), nl=False)


@main.command()
@FILES
@NAMESPACE
@CONFIG
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def validate(files: tuple[str, ...], namespace: str, config: Path | None, output: str) -> None:
    """Check files as admission and the controller would.

    Files that cannot be read are reported, and the others are checked.
    Exit code 0: no errors (there may be warnings); 1: errors; 2: a file cannot be read.
    """
    made, problems = _composed(files, namespace, config)
    if output == "json":
        _echo_json([*map(_unread, problems), *map(_as_json, made.found)])
    else:
        print_errors(problems)
        _print_findings(made, sys.stdout)
        errors = sum(one.error.severity == "error" for one in made.found)
        unread = f", {len(problems)} unreadable" if problems else ""
        click.echo(f"{errors} errors, {len(made.found) - errors} warnings{unread}")
    if problems:
        sys.exit(UNREADABLE)
    sys.exit(DENIED if made.denied else OK)


@main.command()
@FILES
@NAMESPACE
@CONFIG
@click.option("--field", default="", help="Only this field and the fields below it.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(files: tuple[str, ...], namespace: str, config: Path | None, field: str, output: str) -> None:
    """Explain every field that admission sets: its old value, the rule, and the input that caused it.

    Exit code 0: printed; 1: an object would be denied; 2: a file cannot be read.
    """
    from fusioninfer import explain as why  # noqa: PLC0415 - only this subcommand needs it

    settings = read_settings(config)
    read, problems = documents.read_all(files)
    made = offline.compose(read, settings, namespace=namespace, admission_only=True)
    _print_findings(made, sys.stderr)
    if problems:
        exit_unreadable(*problems)
    if made.denied:
        sys.exit(DENIED)
    found = why.explain(read, settings, field)
    if output == "json":
        _echo_json([why.as_json(one) for one in found])
        return
    click.echo(why.as_text(found))


@main.command()
@click.option("--plain", is_flag=True, help="Print no colours, even on a terminal.")
def demo(*, plain: bool) -> None:
    """Run a webhook and show three LeaderWorkerSets before and after admission."""
    from fusioninfer import demo as show  # noqa: PLC0415 - it starts servers

    sys.exit(show.run(plain=plain))


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell: eval "$(fusioninfer completion bash)"."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - only this subcommand needs it

    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(main, {}, "fusioninfer", "_FUSIONINFER_COMPLETE").source())


@main.command()
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def codes(output: str) -> None:
    """List the codes of all findings, with the meaning, the usual cause and the remedy of each."""
    if output == "json":
        rows = [{"code": code, **asdict(row)} for code, row in CODES.items()]
        _echo_json(rows)
        return
    for code, row in CODES.items():
        lines = (f"{code}  {row.severity:8}{row.title}", f"cause: {row.cause}", f"remedy: {row.remedy}")
        click.echo(f"\n{'':15}".join(lines))


@main.command()
@CONFIG
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def engines(config: Path | None, output: str) -> None:
    """List the facts about engines: images, flags, connectors and models by version, with their sources.

    Rows of the file that the settings name as `engines` come first. Exit code 2: a file cannot be read.
    """
    from fusioninfer import engines as facts  # noqa: PLC0415 - only this subcommand needs it

    tables = facts.tables(read_settings(config).engines)
    if output == "json":
        _echo_json(tables)
        return
    for title, rows in tables.items():
        click.secho(title, bold=True)
        click.echo(facts.columns(rows))


def _composed(
    files: tuple[str, ...], namespace: str, config: Path | None, *, admission_only: bool = False
) -> tuple[Composition, list[UnreadableFileError]]:
    """Return the composition of the readable files, and the errors of the others."""
    settings = read_settings(config)
    read, problems = documents.read_all(files)
    made = offline.compose(read, settings, namespace=namespace, admission_only=admission_only)
    return made, problems


def _print_findings(made: Composition, stream: Any) -> None:
    for one in made.found:
        label = click.style(one.error.severity, fg=COLOURS[one.error.severity])
        click.echo(f"{one.document}: {label}: {one.error}", file=stream)


def _echo_json(value: Any) -> None:
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def _unread(problem: UnreadableFileError) -> dict[str, Any]:
    row = CODES[UNREAD]
    return {
        "file": problem.file,
        "document": None,
        "severity": row.severity,
        "code": UNREAD,
        "field": "",
        "value": None,
        "message": str(problem),
        "cause": row.cause,
        "remedy": row.remedy,
    }


def _as_json(one: Found) -> dict[str, Any]:
    return {
        "file": one.document.file,
        "document": one.document.number,
        "severity": one.error.severity,
        "code": one.error.code,
        "field": one.error.path,
        "value": one.error.value,
        "message": one.error.message,
        "cause": CODES[one.error.code].cause,
        "remedy": CODES[one.error.code].remedy,
    }
