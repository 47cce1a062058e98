"""The subcommand `plan`."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from fusioninfer.cli.connection import CLUSTER, Cluster
from fusioninfer.cli.files import read
from fusioninfer.cli.options import (
    CONFIG,
    FILES,
    FINDINGS,
    NAMESPACE,
    OK,
    SELECTION,
    Selection,
    exit_unreadable,
    output_option,
    require,
)
from fusioninfer.cluster.nodes import Nodes, of_cluster
from fusioninfer.lint.documents import to_json
from plan.amounts import PlanError
from plan.forecast import Forecast, forecast
from plan.show import as_data, as_page, as_text
from plan.supply import parse_shapes
from plan.workload import accelerators, workloads

FORMATS: Final[Mapping[str, Callable[[Forecast], str]]] = {
    "text": as_text,
    "json": lambda plan: to_json(as_data(plan)) + "\n",
    "html": as_page,
}
EXAMPLES: Final = """\b
Examples:
  fusioninfer plan service.yaml --nodes 10x8               # 10 nodes with 8 accelerators each
  fusioninfer plan -f service.yaml --nodes 4x8,2x4@pool=h100
  fusioninfer plan service.yaml --context production       # what is free in a cluster
  fusioninfer plan service.yaml --nodes 10x8 -o html > plan.html

\b
--nodes takes COUNTxGPUS, separated by commas; each may have labels, as in
4x8@pool=h100@zone=a. docs/plan.md says what is modelled and what is not.
"""


@click.command(epilog=EXAMPLES)
@FILES
@NAMESPACE
@click.option("--nodes", "shapes", metavar="COUNTxGPUS[,...]", help="The nodes to plan with.")
@CLUSTER
@CONFIG
@SELECTION
@output_option(*FORMATS)
def plan(
    *, namespace: str, shapes: str | None, cluster: Cluster, selection: Selection, output: str, **where: Any
) -> None:
    """Show which groups start with how many nodes, before anything is applied or bought.

    A group starts with all of its pods or not at all, and a service with all of its required roles. Without
    --nodes, the nodes are those of the cluster, which is only read. Findings about the files go to standard
    error.

    Exit code 0: every group starts; 1: a group does not, or that is not known, or an object would be denied,
    or there are warnings with --fail-on-warnings; 2: a file, the nodes or the cluster cannot be read.
    """
    home = cluster.namespace(namespace) if shapes is None else namespace
    composed, _ = read(namespace=home, **where)
    require(composed, selection)
    nodes = Nodes(()) if shapes is not None else cluster.read(of_cluster)
    try:
        planned = workloads((*composed.objects, *nodes.classes), nodes.pods, devices=shapes is not None)
        supplies = nodes.supplies if shapes is None else parse_shapes(shapes, accelerators(planned))
    except PlanError as error:
        exit_unreadable(error)
    if not planned:
        exit_unreadable(ValueError("the files have no LeaderWorkerSet, and nothing that becomes one"))
    result = forecast(planned, supplies, present=len(nodes.supplies), notes=nodes.notes(planned))
    click.echo(FORMATS[output](result), nl=False)
    sys.exit(OK if result.complete else FINDINGS)
