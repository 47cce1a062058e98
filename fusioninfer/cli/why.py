"""The subcommand `why`."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import click

from fusioninfer.cli.connection import CLUSTER, HOME, OUTPUT, Cluster
from fusioninfer.cli.options import FINDINGS, echo_json
from fusioninfer.cluster.why.causes import causes
from fusioninfer.cluster.why.read import read_case
from intent.errors import counted, printable

EFFECTS: Final = {"blocks": ("cause", "red"), "degrades": ("degraded", "yellow")}
"""The word and the colour of each effect of a cause."""
EXAMPLES: Final = """\b
Examples:
  fusioninfer why qwen -n llm          # a service: its InferenceService or its LeaderWorkerSets
  fusioninfer why lws/qwen-decode --all
  fusioninfer why isvc/qwen -o json
"""


@click.command(epilog=EXAMPLES)
@click.argument("name", metavar="SERVICE | lws/NAME | isvc/NAME")
@HOME
@CLUSTER
@click.option("--all", "every", is_flag=True, help="Also the causes that come after the dominant one.")
@OUTPUT
def why(*, name: str, namespace: str, cluster: Cluster, every: bool, output: str) -> None:
    """Say why a service does not serve: the dominant cause, with its remedy.

    Causes are looked for in the order in which a service starts: admission, the rules of the service, the
    controller, LeaderWorkerSet, the scheduler, pods, routes.

    Exit code 0: every replica serves; 1: there is a cause; 2: the cluster or the object cannot be read.
    """
    home = cluster.namespace(namespace)
    case = cluster.read(lambda reader: read_case(reader, name, home))
    found = causes(case)
    if output == "json":
        echo_json(
            {
                "namespace": home,
                "service": case.service,
                "ready": not any(one.effect == "blocks" for one in found),
                "cause": asdict(found[0]) if found else None,
                "others": [asdict(one) for one in found[1:]],
                "unknown": list(case.unknown),
            }
        )
    else:
        _print(found if every else found[:1], case.title, len(found))
        for one in case.unknown:
            click.echo(f"{click.style('unknown', fg='yellow')}: {printable(one)}", err=True)
    sys.exit(FINDINGS if found else 0)


def _print(shown: Sequence[Any], service: str, count: int) -> None:
    """Print causes; `count`: how many there are."""
    if not shown:
        click.echo(f"{printable(service)}: {click.style('ready', fg='green')}, every replica serves")
    for one in shown:
        word, colour = EFFECTS[one.effect]
        click.echo(
            f"{click.style(word, fg=colour)}: {printable(f'{one.object}: {one.message}')} ({one.reason})"
        )
        if one.remedy:
            click.echo(f"  remedy: {printable(one.remedy)}")
    left = count - len(shown)
    if left > 0:
        click.echo(f"\n{counted(left, 'more cause')}: --all shows {'them' if left > 1 else 'it'}")
