"""The subcommand `import`: objects of other systems as ours, and a report for a person."""

import sys
from collections.abc import Iterator, Sequence
from typing import Final

import click

from fusioninfer.cli.options import FILES, FINDINGS, UNREADABLE, echo_json, output_option, print_errors
from fusioninfer.lint import documents
from fusioninfer.lint.offline import compose
from importer.report import as_data, as_text, described
from importer.table import import_all
from intent import Object
from intent.settings import Settings

EXAMPLES: Final = """\b
Examples:
  fusioninfer import -f llmisvc.yaml -f presets.yaml > service.yaml
  fusioninfer import -f lws.yaml -o json 2> report.json
"""


@click.command("import", epilog=EXAMPLES)
@FILES
@output_option("text", "json", of="The format of the report.")
def import_(*, files: tuple[str, ...], output: str, recursive: bool) -> None:
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
    click.echo(documents.write_yaml(imported.objects), nl=False)
    failed = (f"{sources[number]}: {error}" for number, error in imported.problems.items())
    problems, invalid = [*map(str, unread), *failed], list(_invalid(imported.objects))
    places = list(map(str, sources))
    if output == "json":
        echo_json(as_data(imported, places) | {"errors": [*problems, *invalid]}, err=True)
    else:
        print_errors(map(ValueError, problems))
        for line in as_text(imported, places):
            click.echo(line, err=True)
        print_errors(map(ValueError, invalid))
    if problems:
        sys.exit(UNREADABLE)
    if imported.lost or imported.by_hand or invalid:
        sys.exit(FINDINGS)


def _invalid(objects: Sequence[Object]) -> Iterator[str]:
    """Yield what `validate` finds in the output: an import mends nothing that was wrong before."""
    output = [documents.Document("output", number, obj) for number, obj in enumerate(objects, 1)]
    for finding in compose(output, Settings()).found:
        if finding.error.severity == "error":
            yield f"{described(finding.document.object)} of the output is not valid, {finding.error}"
