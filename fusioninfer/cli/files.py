"""The subcommands that read manifests: `validate`, `expand` and `explain`."""

import sys
from pathlib import Path
from typing import Any, Final

import click

from fusioninfer.cli.options import (
    CONFIG,
    FILES,
    NAMESPACE,
    SELECTION,
    Selection,
    echo_json,
    output_option,
    print_errors,
    read_settings,
    require,
)
from fusioninfer.lint import documents, offline, policies, report
from fusioninfer.lint import explain as explanations
from fusioninfer.lint.offline import Composition
from intent.annotations import EXPANSION
from intent.settings import Settings


def read(
    *,
    files: tuple[str, ...],
    recursive: bool,
    namespace: str,
    config: Path | None,
    admission_only: bool = False,
) -> tuple[Composition, Settings]:
    """Read and compose files; exit if the settings cannot be read."""
    settings = read_settings(config)
    found, unread = documents.read_all(files, recursive=recursive)
    composed = offline.compose(found, settings, unread, namespace=namespace, admission_only=admission_only)
    return composed, settings


# --- validate ----------------------------------------------------------------------------------------

VALIDATE: Final = """\b
Examples:
  fusioninfer validate service.yaml
  fusioninfer validate -R manifests/ --fail-on-warnings
  helm template chart/ | fusioninfer validate -
  fusioninfer validate service.yaml --ignore FI504,FI506
  fusioninfer validate -R manifests/ -o github
  fusioninfer validate service.yaml -o json

\b
-o json prints {"findings": [...], "summary": {...}}. A finding has file, line,
document, severity, code, field, value, message, cause, remedy and link. The
summary has the numbers errors, warnings, ignored, unreadable and checked, and
skipped, the number of other objects by kind. A file that cannot be read is the
finding FI905. -o github prints workflow commands, which annotate pull requests;
-o sarif a file for code scanning.
"""


@click.command(epilog=VALIDATE)
@FILES
@NAMESPACE
@CONFIG
@SELECTION
@output_option(*report.FORMATS)
def validate(*, selection: Selection, output: str, **where: Any) -> None:
    """Check files as a cluster would.

    Report the findings of admission and of the controller, each with its line, its remedy and a code.
    A file that cannot be read is reported, and the others are checked. Objects of other kinds are skipped.
    A cluster denies an object with errors, whether they are ignored here or not. What depends on it is found
    when they are mended: of a value that its API refuses (FI921), the findings of admission; of any error,
    those of the controller about its service.

    Exit code 0: no errors; 1: errors, or warnings with --fail-on-warnings; 2: a file cannot be read.
    """
    found = read(**where)[0].without(selection.ignored)
    if output == "text":
        print_errors(found.unread)
    click.echo(report.FORMATS[output](found))
    sys.exit(selection.code(found))


# --- expand ------------------------------------------------------------------------------------------

EXPAND: Final = """\b
Examples:
  fusioninfer expand service.yaml
  fusioninfer expand service.yaml --no-record
  fusioninfer expand prefill.yaml decode.yaml --namespace llm -o json
  fusioninfer expand -R manifests/ --admission-only
  fusioninfer expand service.yaml --network-policies
  fusioninfer expand service.yaml | kubectl apply --filename -
"""


@click.command(epilog=EXPAND)
@FILES
@NAMESPACE
@CONFIG
@SELECTION
@click.option("--admission-only", is_flag=True, help="Leave out what the controller would create.")
@click.option(
    "--no-record",
    is_flag=True,
    help=f"Leave out the annotation {EXPANSION}, to read the output; keep it in what you apply.",
)
@click.option(
    "--network-policies",
    is_flag=True,
    help="Print NetworkPolicies for engines and endpoint pickers instead; FILL-IN stands for further peers.",
)
@output_option("yaml", "json")
def expand(
    *,
    selection: Selection,
    output: str,
    admission_only: bool,
    no_record: bool,
    network_policies: bool,
    **where: Any,
) -> None:
    """Print objects as a cluster would store them.

    Every object is printed as admission would store it, then those that the controller would create.

    Findings go to standard error. Only warnings can be ignored.

    Exit code 0: printed; 1: an object would be denied, or there are warnings with --fail-on-warnings, so
    nothing is printed; 2: a file cannot be read.
    """
    found, _ = read(**where, admission_only=admission_only)
    require(found, selection)
    objects = [*map(offline.without_record, found.objects)] if no_record else [*found.objects]
    if network_policies:
        objects = [*policies.network_policies(objects)]
    click.echo(documents.write_yaml(objects) if output == "yaml" else documents.write_json(objects), nl=False)


# --- explain -----------------------------------------------------------------------------------------

EXPLAIN: Final = """\b
Examples:
  fusioninfer explain service.yaml
  fusioninfer explain service.yaml -o json
"""


@click.command(epilog=EXPLAIN)
@FILES
@NAMESPACE
@CONFIG
@SELECTION
@output_option("text", "json")
def explain(*, selection: Selection, output: str, **where: Any) -> None:
    """Explain each field that admission sets.

    For each field: its old value, the new one, the rule, and the input that caused it.

    Findings go to standard error. Only warnings can be ignored.

    Exit code 0: printed; 1: an object would be denied, or there are warnings with --fail-on-warnings;
    2: a file cannot be read.
    """
    found, settings = read(**where, admission_only=True)
    require(found, selection)
    explained = explanations.explain(found.documents, settings)
    if output == "json":
        echo_json([*map(explanations.as_json, explained)])
        return
    click.echo(explanations.as_text(explained) or "admission sets no fields")
