"""The subcommands `check`, `why` and `diff`: they read a cluster and change nothing."""

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict
from typing import Any, Final, TypeVar

import click
import orjson

from fusioninfer.options import CONTEXT, KUBECONFIG, exit_unreadable

T = TypeVar("T")
FOUND: Final = 1
"""The exit code if something is wrong, or differs."""
COLOURS: Final = {"ok": "green", "warning": "yellow", "error": "red", "unknown": "yellow"}
CHECK_EXAMPLES: Final = """\b
Examples:
  fusioninfer check --pre          # before the installation
  fusioninfer check                # after it
  fusioninfer check -n fusioninfer-system -o json
"""
OUTPUT: Final = click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True
)


@click.command(epilog=CHECK_EXAMPLES)
@click.option("--pre", is_flag=True, help="Check what an installation needs, before it.")
@click.option(
    "-n",
    "--namespace",
    default="fusioninfer-system",
    show_default=True,
    help="The namespace of FusionInfer.",
)
@KUBECONFIG
@CONTEXT
@OUTPUT
def check(*, pre: bool, namespace: str, kubeconfig: str | None, context: str | None, output: str) -> None:
    """Check that a cluster has what FusionInfer needs, and that FusionInfer works in it.

    One line for each check: ok, warning, error, or unknown if you lack the right to read what it needs. The
    dry run of an annotated LeaderWorkerSet in your namespace shows whether the webhook answers. Nothing is
    written.

    Exit code 0: no errors (there may be warnings); 1: errors; 2: the cluster cannot be read.
    """
    from fusioninfer.cluster.check import CHECKS  # noqa: PLC0415 - other subcommands start without it
    from fusioninfer.cluster.check.collect import collect  # noqa: PLC0415 - the same
    from fusioninfer.cluster.check.row import results  # noqa: PLC0415 - the same
    from kube.client import ConfigError, home_namespace  # noqa: PLC0415 - the same

    when: Any = "pre" if pre else "installed"
    try:
        home = home_namespace(kubeconfig, context)
    except ConfigError as error:
        exit_unreadable(error)
    facts = _read(kubeconfig, context, lambda reader: collect(reader, when, namespace, home))
    found = results(CHECKS, facts, when)
    if output == "json":
        _echo_json([asdict(one) for one in found])
    else:
        _print_results(found)
    sys.exit(FOUND if any(one.state == "error" for one in found) else 0)


def _print_results(found: Iterable[Any]) -> None:
    about = ""
    found = tuple(found)
    for one in found:
        if one.about != about:
            click.secho(f"{chr(10) if about else ''}{one.about}", bold=True)
            about = one.about
        detail = f": {one.detail}" if one.detail else ""
        click.echo(f"  {click.style(f'{one.state:7}', fg=COLOURS[one.state])}  {one.claim}{detail}")
        if one.remedy:
            click.echo(f"           remedy: {one.remedy}")
    counts = Counter(one.state for one in found)
    names = {"ok": "ok", "error": "error", "warning": "warning", "unknown": "unknown"}
    text = ", ".join(
        f"{counts[state]} {name}{'s' if counts[state] != 1 and name in {'error', 'warning'} else ''}"
        for state, name in names.items()
    )
    click.echo(f"\n{text}")


def _read(kubeconfig: str | None, context: str | None, read: Callable[[Any], Awaitable[T]]) -> T:
    """Connect, read, and disconnect; exit if the cluster cannot be read."""
    from fusioninfer.cluster.reader import Reader, UnreachableError  # noqa: PLC0415 - others start without it
    from kube.client import ConfigError, connect  # noqa: PLC0415 - the same

    async def run() -> T:
        client = await connect(kubeconfig, context)
        try:
            return await read(Reader(client))
        finally:
            await client.close()

    try:
        return asyncio.run(run())
    except (ConfigError, UnreachableError) as error:
        exit_unreadable(error)


def _echo_json(value: Any) -> None:
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
