"""The subcommand `import`: objects of other systems as ours, and a report for a person."""

import errno
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from fusioninfer.cli.options import (
    FILES,
    FINDINGS,
    UNREADABLE,
    echo_json,
    exit_unreadable,
    output_option,
    print_errors,
)
from fusioninfer.lint import documents
from fusioninfer.lint.offline import compose
from importer.report import as_data, as_text, described
from importer.table import ImportResult, import_all
from intent import Object
from intent.settings import Settings

EXAMPLES: Final = """\b
Examples:
  fusioninfer import -f llmisvc.yaml -f presets.yaml > service.yaml
  fusioninfer import -f llmisvc.yaml -f presets.yaml --output-dir services/
  fusioninfer import -f lws.yaml -o json 2> report.json
"""
_UNSAFE: Final = re.compile(r"[^a-z0-9.-]+")


@click.command("import", epilog=EXAMPLES)
@FILES
@click.option(
    "--output-dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write each object to a file of its own in this directory, and the report to standard output.",
)
@output_option("text", "json", of="The format of the report.")
def import_(*, files: tuple[str, ...], directory: Path | None, output: str, recursive: bool) -> None:
    """Turn objects of other systems into ours.

    Print InferenceServices and LeaderWorkerSets for objects of other systems, and other objects as they are.
    The report on standard error says what is lost, which launches stay by hand, and what an operator has to
    know; as JSON, what became of each field of the input. Objects that others refer to, such as bases and
    presets, must be in the files too: they are merged into the services.

    Exit code 0: nothing is lost, and no launch stays by hand; 1: something is or does, or an object of the
    output is not valid; 2: a file or an object cannot be read.
    """
    read, unread = documents.read_all(files, recursive=recursive)
    sources = [document for document in read if document.object]
    imported = import_all([document.object for document in sources])
    if directory:
        try:
            _write(directory, imported.objects)
        except OSError as error:
            exit_unreadable(ValueError(f"{error.filename or directory}: {_cause(error)}"))
    else:
        click.echo(documents.write_yaml(imported.objects), nl=False)
    failed = (f"{sources[problem.document]}: {problem.error}" for problem in imported.problems)
    problems, invalid = [*map(str, unread), *failed], list(_invalid(imported.objects))
    _print_report(imported, sources, output, (problems, invalid), to_stderr=directory is None)
    if problems:
        sys.exit(UNREADABLE)
    if imported.report.lost or imported.report.by_hand or invalid:
        sys.exit(FINDINGS)


def _invalid(objects: Sequence[Object]) -> Iterator[str]:
    """Yield what `validate` finds in the output: an import mends nothing that was wrong before."""
    output = [documents.Document("output", number, obj) for number, obj in enumerate(objects, 1)]
    for finding in compose(output, Settings()).found:
        if finding.error.severity == "error":
            yield f"{described(finding.document.object)} of the output is not valid, {finding.error}"


def _print_report(
    imported: ImportResult,
    sources: Sequence[documents.Document],
    form: str,
    errors: tuple[list[str], list[str]],
    *,
    to_stderr: bool,
) -> None:
    """Print the report between the errors of the input and those of the output; JSON holds them all."""
    problems, invalid = errors
    objects, places = [document.object for document in sources], list(map(str, sources))
    if form == "json":
        data = as_data(imported.report, objects, places)
        echo_json(data | {"errors": [*problems, *invalid]}, err=to_stderr)
        return
    print_errors(map(ValueError, problems))
    for line in as_text(imported.report, objects, places):
        click.echo(line, err=to_stderr)
    print_errors(map(ValueError, invalid))


def _write(directory: Path, objects: Iterable[Object]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, obj in _named(objects):
        with open(directory / name, "w", encoding="utf-8", opener=_opened) as file:
            file.write(documents.write_yaml([obj]))


def _opened(path: str, flags: int) -> int:
    """Open a file to write; a symbolic link is refused, and nothing waits for the reader of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def _cause(error: OSError) -> str | None:
    if error.errno == errno.ELOOP:
        return "is a symbolic link, which is not followed: remove it, or name another directory"
    return error.strerror


def _named(objects: Iterable[Object]) -> Iterator[tuple[str, Object]]:
    """Yield objects with the names of their files, each name once."""
    seen: Counter[str] = Counter()
    for obj in objects:
        name = _UNSAFE.sub("-", described(obj).lower().replace("/", "-"))[:200]
        seen[name] += 1
        yield f"{name}{f'-{seen[name]}' if seen[name] > 1 else ''}.yaml", obj
