"""The subcommand `refresh`."""

import sys
from typing import Any, Final

import click

from fusioninfer.cluster.connection import HOME, OUTPUT, counted, home_namespace, printable, read
from fusioninfer.options import CONTEXT, FINDINGS, KUBECONFIG, Namespace, echo_json
from intent.names import SYSTEM_NAMESPACE

EXAMPLES: Final = """\b
Examples:
  fusioninfer refresh -A --dry-run
  fusioninfer refresh --template vllm --dry-run
  fusioninfer refresh -n llm --template vllm
"""


@click.command(epilog=EXAMPLES)
@click.option("--template", default="", metavar="NAME", help="Only what names this InferenceTemplate.")
@click.option(
    "--dry-run", is_flag=True, help="Change nothing: list what would be refreshed, and what restarts."
)
@HOME
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="The objects of all namespaces.")
@click.option(
    "--templates-namespace",
    "shared",
    type=Namespace(),
    default=SYSTEM_NAMESPACE,
    show_default=True,
    metavar="NAME",
    help="The namespace whose templates serve all namespaces.",
)
@KUBECONFIG
@CONTEXT
@OUTPUT
def refresh(  # noqa: PLR0913 - each is a flag
    *,
    template: str,
    dry_run: bool,
    namespace: str,
    everywhere: bool,
    shared: str,
    kubeconfig: str | None,
    context: str | None,
    output: str,
) -> None:
    """Take changed InferenceTemplates.

    LeaderWorkerSets keep the templates that they were made with. This command finds those whose templates
    were changed since, and sets the annotation fusioninfer.io/refresh on each, or on its InferenceService:
    admission reads the templates again, and the groups restart if their pods change. A dry run on the API
    server tells which.

    Exit code 0: refreshed, or nothing to do; 1: an object cannot be refreshed; 2: the cluster cannot be read.
    """
    from fusioninfer.cluster.refresh import outdated as found  # noqa: PLC0415 - other subcommands start without it

    home = "" if everywhere else namespace or home_namespace(kubeconfig, context)

    async def run(reader: Any) -> Any:
        rows = await found.outdated(reader, home, shared, template)
        return rows if dry_run else await found.refreshed(reader, rows)

    rows = read(kubeconfig, context, run)
    if output == "json":
        echo_json({"dryRun": dry_run, "leaderWorkerSets": [_as_json(row) for row in rows]})
    else:
        _print(rows, dry_run=dry_run)
    if any(row.problem for row in rows):
        sys.exit(FINDINGS)


def _as_json(row: Any) -> dict[str, Any]:
    return {
        "namespace": row.namespace,
        "name": row.name,
        "annotated": row.written[1],
        "changes": [str(change) for change in row.changes],
        "restarts": row.rolls,
        "refreshed": row.is_refreshed,
        "problem": row.problem,
    }


def _print(rows: Any, *, dry_run: bool) -> None:
    for row in rows:
        changes = "; ".join(map(str, row.changes))
        click.echo(printable(f"{row.namespace}/{row.name}: {changes}: {_outcome(row, dry_run=dry_run)}"))
    done = [row for row in rows if not row.problem]
    restarts = sum(row.rolls for row in done)
    verb = "would be refreshed" if dry_run else "refreshed"
    click.echo(f"{counted(len(done), 'LeaderWorkerSet')} {verb}; the groups of {restarts} restart", err=True)


def _outcome(row: Any, *, dry_run: bool) -> str:
    if row.problem:
        return f"cannot be refreshed: {row.problem}"
    if not row.rolls:
        return "its pods stay as they are"
    return "its groups would restart" if dry_run else "its groups restart"
