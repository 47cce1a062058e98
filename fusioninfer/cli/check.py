"""The subcommand `check`."""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

import click

from fusioninfer.cli.connection import CLUSTER, HOME, OUTPUT, Cluster
from fusioninfer.cli.options import FINDINGS, SYSTEM, echo_json
from fusioninfer.cluster.check.collect import collect, collect_needed
from fusioninfer.cluster.check.components import NEEDED
from fusioninfer.cluster.check.facts import results
from fusioninfer.cluster.check.installed import CHECKS
from intent.errors import counted, printable

COLOURS: Final = {"ok": "green", "warning": "yellow", "error": "red", "unknown": "yellow"}
EXAMPLES: Final = """\b
Examples:
  fusioninfer check --pre          # before the installation
  fusioninfer check                # after it
  fusioninfer check -n llm         # after it, for services in this namespace
"""


@click.command(epilog=EXAMPLES)
@click.option("--pre", is_flag=True, help="Check what an installation needs, before it.")
@HOME
@SYSTEM
@CLUSTER
@OUTPUT
def check(*, pre: bool, namespace: str, system_namespace: str, cluster: Cluster, output: str) -> None:
    """Check that a cluster has what FusionInfer needs, and that FusionInfer works in it.

    One line for each check: ok, warning, error, or unknown if you lack the right to read what it needs. The
    dry run of an annotated LeaderWorkerSet in that namespace shows whether the webhook answers. Nothing is
    written.

    Exit code 0: no errors (there may be warnings); 1: errors; 2: the cluster cannot be read.
    """
    home = cluster.namespace(namespace)
    facts = cluster.read(
        lambda reader: collect_needed(reader) if pre else collect(reader, system_namespace, home)
    )
    found = results(NEEDED if pre else CHECKS, facts)
    if output == "json":
        echo_json([asdict(one) for one in found])
    else:
        _print(found)
    sys.exit(FINDINGS if any(one.state == "error" for one in found) else 0)


def _print(found: Iterable[Any]) -> None:
    """Print the results by the part of the cluster that they are about, then how many there are."""
    counts: Counter[str] = Counter()
    about = ""
    for one in found:
        counts[one.state] += 1
        if one.about != about:
            click.secho(f"\n{one.about}" if about else one.about, bold=True)
            about = one.about
        state = click.style(f"{one.state:7}", fg=COLOURS[one.state])
        detail = f": {printable(one.detail)}" if one.detail else ""
        click.echo(f"  {state}  {printable(one.claim)}{detail}")
        if one.remedy:
            click.echo(f"           remedy: {printable(one.remedy)}")
    known = f"{counts['ok']} ok, {counted(counts['warning'], 'warning')}, {counted(counts['error'], 'error')}"
    click.echo(f"\n{known}, {counts['unknown']} unknown")
