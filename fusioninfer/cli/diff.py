"""The subcommand `diff`."""

import sys
from typing import Final

import click

from fusioninfer.cli.connection import CLUSTER, HOME, OUTPUT, Cluster
from fusioninfer.cli.options import FILES, FINDINGS, UNREADABLE, echo_json, exit_unreadable, print_errors
from fusioninfer.cluster.diff import differences
from fusioninfer.cluster.text import unified
from fusioninfer.lint import documents
from intent.errors import printable

COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
EXAMPLES: Final = """\b
Examples:
  fusioninfer diff service.yaml
  fusioninfer diff -n llm -R deploy/
  kubectl kustomize overlays/prod | fusioninfer diff -
"""


@click.command(epilog=EXAMPLES)
@FILES
@HOME
@CLUSTER
@OUTPUT
def diff(*, files: tuple[str, ...], recursive: bool, namespace: str, cluster: Cluster, output: str) -> None:
    """Show what applying files would change in the cluster: in their objects, and in the controller's.

    Objects of files are sent as dry runs, so that the API server and all webhooks answer. LeaderWorkerSets of
    an InferenceService, PodGroups, Services and routes are those that the controller would apply or delete.
    Left out are managedFields, owners, status, and the record of the expansion.

    Exit code 0: no differences; 1: differences; 2: a file or the cluster cannot be read, or an object is
    refused.
    """
    objects, unread = documents.read_all(files, recursive=recursive)
    if unread:
        exit_unreadable(*unread)
    home = cluster.namespace(namespace)
    found = cluster.read(lambda reader: differences(reader, objects, home))
    if output == "json":
        changes = [{"before": before, "after": after} for before, after in found.changes]
        echo_json({"changes": changes, "errors": found.errors, "notes": found.notes})
    else:
        for line in (line for change in found.changes for line in unified(*change)):
            click.secho(printable(line), fg=COLOURS.get(line[:1]))
        for note in found.notes:
            click.echo(f"{click.style('note', fg='yellow')}: {printable(note)}", err=True)
        print_errors(map(ValueError, found.errors))
    sys.exit(UNREADABLE if found.errors else FINDINGS if found.changes else 0)
