"""The subcommand `eject`: it reads a cluster, prints plain manifests, and says how to leave."""

import sys
from dataclasses import asdict
from typing import Final

import click

from catalog.release import SITE
from fusioninfer.cli.connection import CLUSTER, HOME, Cluster
from fusioninfer.cli.options import FINDINGS, echo_json, output_option, print_errors
from fusioninfer.cluster.eject import manifests, problems_of, read_service, steps
from fusioninfer.lint import documents
from intent.errors import printable

PAGE: Final = f"{SITE}/eject/#what-no-longer-happens-by-itself"
EXAMPLES: Final = """\b
Examples:
  fusioninfer eject qwen -n llm > ejected.yaml
  fusioninfer eject lws/qwen-decode -n llm -o json
"""


@click.command(epilog=EXAMPLES)
@click.argument("name", metavar="SERVICE | lws/NAME | isvc/NAME")
@HOME
@CLUSTER
@output_option("yaml", "json")
def eject(*, name: str, namespace: str, cluster: Cluster, output: str) -> None:
    """Print a service as plain manifests.

    Print what the cluster holds for a service as manifests, which work without FusionInfer: the expanded
    LeaderWorkerSets, their PodGroup and their routes. Standard error has the steps that restart nothing; with
    -o json they are in the output. The command only reads.

    Exit code 0: printed; 1: the service cannot be ejected, so nothing is printed; 2: the cluster or the
    service cannot be read.
    """
    home = cluster.namespace(namespace)
    service = cluster.read(lambda reader: read_service(reader, name, home))
    if problems := list(problems_of(service)):
        print_errors(map(ValueError, problems))
        sys.exit(FINDINGS)
    if output == "json":
        several = {"apiVersion": "v1", "kind": "List", "items": manifests(service)}
        echo_json(several | {"steps": [asdict(one) for one in steps(service)]})
        return
    click.echo(documents.write_yaml(manifests(service)), nl=False)
    click.echo("\nSteps that restart nothing:", err=True)
    for number, step in enumerate(steps(service), start=1):
        command = f"\n   $ {step.command}" if step.command else ""
        click.echo(f"{number}. {printable(step.description)}{command}", err=True)
    click.echo(f"\nWhat no longer happens by itself: {PAGE}", err=True)
