"""The subcommand `refresh`."""

import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Final

import click

from fusioninfer.cli.connection import CLUSTER, HOME, OUTPUT, Cluster
from fusioninfer.cli.options import FINDINGS, echo_json
from fusioninfer.cluster.refresh import Outdated, outdated, refreshed
from intent.errors import counted, printable

EXAMPLES: Final = """\b
Examples:
  fusioninfer refresh -A --dry-run
  fusioninfer refresh qwen -n llm              # a service: it asks before it writes
  fusioninfer refresh -n llm --template vllm --yes
"""


@click.command(epilog=EXAMPLES)
@click.argument("name", default="", metavar="[SERVICE | lws/NAME | isvc/NAME]")
@click.option("--template", default="", metavar="NAME", help="Only what names this InferenceTemplate.")
@click.option(
    "--dry-run", is_flag=True, help="Write nothing: list what would be refreshed, and what restarts."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before writing.")
@HOME
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="The objects of all namespaces.")
@CLUSTER
@OUTPUT
def refresh(  # noqa: PLR0913 - each is a flag
    *,
    name: str,
    template: str,
    dry_run: bool,
    yes: bool,
    namespace: str,
    everywhere: bool,
    cluster: Cluster,
    output: str,
) -> None:
    """Take changed InferenceTemplates.

    LeaderWorkerSets keep the templates that they were made with. This command finds those whose templates
    were changed since: of one service, or of all. A dry run on the API server tells which groups restart. It
    then asks, and sets the annotation fusioninfer.io/refresh on each, or on its InferenceService: admission
    reads the templates again.

    Exit code 0: refreshed, or nothing to do; 1: an object cannot be refreshed, or you said no; 2: the cluster
    or the service cannot be read.
    """
    home = "" if everywhere else cluster.namespace(namespace)
    rows = cluster.read(lambda reader: outdated(reader, home, template=template, word=name))
    ready = [row for row in rows if not row.problem]
    restarts = f"the groups of {sum(row.restarts for row in ready)} restart"
    if output == "text":
        _print(rows)
    if ready and not dry_run:
        if not yes:
            count = counted(len(ready), "LeaderWorkerSet")
            click.confirm(f"Refresh {count}? {restarts.capitalize()}", abort=True, err=True)
        done = cluster.read(lambda reader: refreshed(reader, ready))
        if output == "text":
            _print(row for row in done if row.problem)
        rows = (*done, *(row for row in rows if row.problem))
    if output == "json":
        refreshes = [asdict(row) | {"refreshed": not (dry_run or row.problem)} for row in rows]
        echo_json({"dryRun": dry_run, "leaderWorkerSets": refreshes})
    else:
        total = counted(sum(not row.problem for row in rows), "LeaderWorkerSet")
        click.echo(f"{total} {'would be ' if dry_run else ''}refreshed; {restarts}", err=True)
    sys.exit(FINDINGS if any(row.problem for row in rows) else 0)


def _print(rows: Iterable[Outdated]) -> None:
    for row in rows:
        restarts = "its groups restart" if row.restarts else "its pods stay as they are"
        outcome = f"cannot be refreshed: {row.problem}" if row.problem else restarts
        changes = ["; ".join(row.changes)] if row.changes else []
        click.echo(printable(": ".join((f"{row.namespace}/{row.name}", *changes, outcome))))
