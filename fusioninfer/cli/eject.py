"""The subcommand `eject`: it reads a cluster, prints plain manifests, and says how to leave."""

import sys
from dataclasses import asdict
from typing import Any, Final

import click

from fusioninfer.cli.connection import CLUSTER, Cluster
from fusioninfer.cli.options import (
    FILES_OR_NAMES,
    FINDINGS,
    Namespace,
    echo_json,
    exit_unreadable,
    output_option,
    print_errors,
)
from fusioninfer.cluster.eject.manifests import eject as ejected
from fusioninfer.cluster.eject.service import Target, read_services
from fusioninfer.cluster.text import parse
from fusioninfer.lint import documents
from fusioninfer.lint.documents import UnreadableFileError
from fusioninfer.lint.offline import is_inferenceservice, is_lws
from intent.errors import printable
from intent.names import is_dns_1035_label
from intent.shapes import mapping, text

EXAMPLES: Final = """\b
Examples:
  fusioninfer eject service.yaml > ejected.yaml
  fusioninfer eject -n llm lws/prefill lws/decode > ejected.yaml
  fusioninfer eject -n llm isvc/qwen -o json
"""


@click.command(epilog=EXAMPLES)
@FILES_OR_NAMES
@click.option(
    "-n",
    "--namespace",
    type=Namespace(),
    default="",
    help="The namespace of objects without one. Default: the context's.",
)
@CLUSTER
@output_option("yaml", "json")
def eject(
    *,
    files: tuple[str, ...],
    namespace: str,
    cluster: Cluster,
    output: str,
    recursive: bool,
) -> None:
    """Print services as plain manifests.

    Print what the cluster holds for services as manifests, which work without FusionInfer.
    Files, or lws/NAME and isvc/NAME, name LeaderWorkerSets and InferenceServices. The output has the expanded
    LeaderWorkerSets, their PodGroup and their routes. Standard error has notes on what no longer happens by
    itself, and the steps that restart nothing; with -o json they are in the output. The command only reads.

    Exit code 0: printed; 1: an object cannot be ejected, so nothing is printed; 2: a file or the cluster
    cannot be read.
    """
    home = cluster.namespace(namespace)
    wanted = _targets(files, home, recursive=recursive)
    services, problems = cluster.read(lambda reader: read_services(reader, wanted))
    if problems:
        print_errors(map(ValueError, problems))
        sys.exit(FINDINGS)
    made = ejected(services)
    if output == "json":
        _print_json(made)
    else:
        _print(made)


def _targets(words: tuple[str, ...], home: str, *, recursive: bool) -> list[Any]:
    """Return the objects that KIND/NAME and files name; exit if one has no name, or none is named."""
    named = {word: one for word in words if (one := parse(word)) and one.kind}
    given, unread = documents.read_all([word for word in words if word not in named], recursive=recursive)
    if unread:
        exit_unreadable(*unread)
    found = [Target(one.kind, home, one.name) for one in named.values()]
    for document in given:
        obj, of = document.object, mapping(document.object.get("metadata"))
        if not (is_lws(obj) or is_inferenceservice(obj)):
            continue
        if not is_dns_1035_label(text(of.get("name"))):
            exit_unreadable(UnreadableFileError(f"{document}: metadata.name is missing, or no name"))
        found.append(Target(text(obj.get("kind")), text(of.get("namespace")) or home, text(of.get("name"))))
    if not found:
        raise click.UsageError(
            "no LeaderWorkerSet or InferenceService is named, for example: fusioninfer eject service.yaml, "
            "or: fusioninfer eject lws/NAME"
        )
    return found


def _print(made: Any) -> None:
    """Print manifests, and to standard error the notes and the steps."""
    click.echo(documents.write_yaml(made.objects), nl=False)
    for note in made.notes:
        text = printable(f"{note.object}: {note.message}")
        click.echo(f"{click.style('note', fg='yellow')}: {text}", err=True)
    click.echo("\nSteps that restart nothing:", err=True)
    for number, step in enumerate(made.steps, start=1):
        command = f"\n   $ {step.command}" if step.command else ""
        click.echo(f"{number}. {printable(step.description)}{command}", err=True)


def _print_json(made: Any) -> None:
    """Print a List that kubectl accepts, with the notes and the steps beside its items."""
    whole = {
        "apiVersion": "v1",
        "kind": "List",
        "items": made.objects,
        "notes": [asdict(one) for one in made.notes],
        "steps": [asdict(one) for one in made.steps],
    }
    echo_json(whole)
