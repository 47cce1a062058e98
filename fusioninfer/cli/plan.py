"""The subcommand `plan`."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from fusioninfer.cli.connection import CLUSTER, Cluster
from fusioninfer.cli.options import (
    CONFIG,
    FILES,
    FINDINGS,
    NAMESPACE,
    OK,
    SELECTION,
    exit_unreadable,
    output_option,
    read_settings,
    require,
)
from fusioninfer.cluster.nodes import Nodes, of_cluster, of_file
from fusioninfer.lint import documents, offline
from fusioninfer.lint.documents import UnreadableFileError, to_json
from fusioninfer.lint.report import Report, Selection
from intent import Object
from plan.data import as_data
from plan.forecast import Forecast, forecast
from plan.page import as_page
from plan.services import TooManyPodsError, accelerators, placement_policies, workloads
from plan.supply import ShapeError, parse_shapes
from plan.text import as_text

EXAMPLES: Final = """\b
Examples:
  fusioninfer plan service.yaml --nodes 10x8               # 10 nodes with 8 accelerators each
  fusioninfer plan -f service.yaml --nodes 4x8,2x4@pool=h100
  fusioninfer plan -R manifests/ --nodes-file nodes.yaml   # from: kubectl get nodes -o yaml
  fusioninfer plan service.yaml --context production       # what is free in a cluster
  fusioninfer plan service.yaml --nodes 10x8 -o html > plan.html

\b
--nodes takes COUNTxGPUS, separated by commas; each may have :RESOURCE, as in
4x8:amd.com/gpu, and labels, as in 4x8@pool=h100@zone=a. A row of the table is
an interval of node counts in which nothing changes; -o json has a row for each
count. docs/plan.md says what is modelled and what is not.
"""


@click.command(epilog=EXAMPLES)
@FILES
@NAMESPACE
@click.option("--nodes", "shapes", metavar="COUNTxGPUS[,...]", help="The nodes to plan with.")
@click.option(
    "--nodes-file",
    "nodes_file",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="A file of Nodes, or a list of them, to plan with.",
)
@CLUSTER
@CONFIG
@SELECTION
@output_option("text", "json", "html")
def plan(  # noqa: PLR0913 - each is a flag
    *,
    files: tuple[str, ...],
    recursive: bool,
    namespace: str,
    shapes: str | None,
    nodes_file: str | None,
    cluster: Cluster,
    config: Path | None,
    selection: Selection,
    output: str,
) -> None:
    """Show which groups start with how many nodes, before anything is applied or bought.

    A group starts with all of its pods or not at all, and a service with all of its required roles. Without
    --nodes and --nodes-file, the nodes are those of the cluster: what is allocatable less the requests of the
    pods on them, without cordoned nodes. The cluster is only read.

    Findings about the files go to standard error.

    Exit code 0: every group starts; 1: a group does not, or that is not known, or an object would be denied,
    or there are warnings with --fail-on-warnings; 2: a file, the nodes or the cluster cannot be read.
    """
    if shapes is not None and nodes_file is not None:
        raise click.UsageError("--nodes and --nodes-file are alternatives: name one of them")
    settings = read_settings(config)
    source = NodeSource(shapes, nodes_file, cluster)
    home = cluster.namespace(namespace) if source.is_live else namespace
    found, problems = documents.read_all(files, recursive=recursive)
    made = offline.compose(found, settings, namespace=home)
    require(Report.of(made, problems), selection)
    result = _forecast(made.objects, source, tuple(one.object for one in found))
    click.echo(_rendered(result, output), nl=False)
    sys.exit(OK if result.complete else FINDINGS)


@dataclass(frozen=True, slots=True)
class NodeSource:
    """Which nodes are meant: of a list of shapes, else of a file, else of a cluster."""

    shapes: str | None
    nodes_file: str | None
    cluster: Cluster

    @property
    def is_live(self) -> bool:
        """Whether the nodes are those of a cluster."""
        return self.shapes is None and self.nodes_file is None


def _forecast(objects: tuple[Object, ...], source: NodeSource, written: tuple[Object, ...]) -> Forecast:
    """Plan the workloads of objects; exit if there are none or too many, or if nodes cannot be read.

    `written`: what they were made of.
    """
    try:
        planned = workloads(objects, devices=True)
        if not planned:
            exit_unreadable(ValueError("the files have no LeaderWorkerSet, and nothing that becomes one"))
        nodes = _nodes(source, accelerators(planned))
        if source.shapes is None:
            planned = workloads((*objects, *nodes.objects), nodes.pods)
    except TooManyPodsError as error:
        exit_unreadable(error)
    return forecast(
        planned,
        nodes.supplies,
        present=len(nodes.supplies) if source.is_live else 0,
        notes=(*nodes.notes(objects), *placement_policies(written)),
    )


def _nodes(source: NodeSource, offered: tuple[str, ...]) -> Nodes:
    """Return the nodes to plan with; `offered` are the accelerators that pods request. Exit without nodes."""
    if source.shapes is not None:
        try:
            return Nodes(parse_shapes(source.shapes, offered))
        except ShapeError as error:
            raise click.BadParameter(str(error), param_hint="--nodes") from error
    if source.nodes_file is not None:
        try:
            return of_file(source.nodes_file)
        except UnreadableFileError as error:
            exit_unreadable(error)
    return source.cluster.read(of_cluster)


def _rendered(result: Forecast, output: str) -> str:
    if output == "json":
        return to_json(as_data(result)) + "\n"
    if output == "html":
        return as_page(result)

    return as_text(result)
