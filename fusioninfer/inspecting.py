"""The subcommands `check`, `why` and `diff`: they read a cluster and change nothing."""

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import orjson

from fusioninfer.options import (
    CONFIG,
    CONTEXT,
    FILES_OR_NAMES,
    KUBECONFIG,
    UNREADABLE,
    exit_unreadable,
    print_errors,
    read_settings,
)

T = TypeVar("T")
FOUND: Final = 1
"""The exit code if something is wrong, or differs."""
COLOURS: Final = {"ok": "green", "warning": "yellow", "error": "red", "unknown": "yellow"}
EFFECTS: Final = {"blocks": ("cause", "red"), "degrades": ("degraded", "yellow"), "note": ("note", "cyan")}
"""The word and the colour of each effect of a cause."""
CHECK_EXAMPLES: Final = """\b
Examples:
  fusioninfer check --pre          # before the installation
  fusioninfer check                # after it
  fusioninfer check -n fusioninfer-system -o json
"""
WHY_EXAMPLES: Final = """\b
Examples:
  fusioninfer why qwen -n llm          # a service: its InferenceService or its LeaderWorkerSets
  fusioninfer why lws/qwen-decode --all
  fusioninfer why isvc/qwen -o json
"""
DIFF_EXAMPLES: Final = """\b
Examples:
  fusioninfer diff -f service.yaml
  fusioninfer diff -n llm -R deploy/
  kubectl kustomize overlays/prod | fusioninfer diff -f -
"""
HOME: Final = click.option(
    "-n", "--namespace", default="", help="The namespace of the service. Default: the context's."
)
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

    when: Any = "pre" if pre else "installed"
    home = _home(kubeconfig, context)
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


@click.command(epilog=WHY_EXAMPLES)
@click.argument("name", metavar="SERVICE | lws/NAME | isvc/NAME")
@HOME
@KUBECONFIG
@CONTEXT
@CONFIG
@click.option("--all", "every", is_flag=True, help="Also the causes that come after the dominant one.")
@OUTPUT
def why(  # noqa: PLR0913 - each is a flag
    *,
    name: str,
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    config: Path | None,
    every: bool,
    output: str,
) -> None:
    """Say why a service does not serve: the dominant cause, with its remedy.

    Causes are looked for in the order in which a service starts: admission, the rules of the service, the
    controller, LeaderWorkerSet, the scheduler, pods, routes. Without --config the settings are those of the
    installation.

    Exit code 0: every replica serves; 1: there is a cause; 2: the cluster or the object cannot be read.
    """
    from fusioninfer.cluster.why import causes  # noqa: PLC0415 - other subcommands start without it
    from fusioninfer.cluster.why.case import case_of  # noqa: PLC0415 - the same
    from fusioninfer.cluster.why.read import read_case  # noqa: PLC0415 - the same

    settings = read_settings(config) if config else None
    home = namespace or _home(kubeconfig, context)
    case = case_of(_read(kubeconfig, context, lambda reader: read_case(reader, name, home, settings)))
    found = causes(case)
    wrong = [one for one in found if one.effect != "note"]
    unknown = case.unknown
    if output == "json":
        _echo_json(
            {
                "namespace": home,
                "service": case.read.service,
                "ready": not any(one.effect == "blocks" for one in found),
                "cause": asdict(wrong[0]) if wrong else None,
                "others": [asdict(one) for one in found if one not in wrong[:1]],
                "unknown": list(unknown),
            }
        )
    else:
        _print_causes(found if every else wrong[:1], case.service, len(wrong))
        for one in unknown:
            click.echo(f"{click.style('unknown', fg=COLOURS['unknown'])}: {one}", err=True)
    sys.exit(FOUND if wrong else 0)


def _print_causes(shown: Iterable[Any], service: str, count: int) -> None:
    """Print causes; `count`: how many there are, notes aside."""
    shown = tuple(shown)
    if not count:
        click.echo(f"{service}: {click.style('ready', fg='green')}, every replica serves")
    for one in shown:
        word, colour = EFFECTS[one.effect]
        click.echo(f"{click.style(word, fg=colour)}: {one.object}: {one.message} ({one.reason})")
        if one.remedy:
            click.echo(f"  remedy: {one.remedy}")
    left = count - len(shown)
    if left > 0:
        click.echo(
            f"\n{left} more cause{'s' if left > 1 else ''}: --all shows {'them' if left > 1 else 'it'}"
        )


@click.command(epilog=DIFF_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[FILE]...")
@FILES_OR_NAMES
@click.option("-R", "--recursive", is_flag=True, help="Read directories with those below them.")
@HOME
@KUBECONFIG
@CONTEXT
@CONFIG
@OUTPUT
def diff(  # noqa: PLR0913 - each is a flag
    *,
    paths: tuple[str, ...],
    files: tuple[str, ...],
    recursive: bool,
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    config: Path | None,
    output: str,
) -> None:
    """Show what applying files would change in the cluster: in their objects, and in the controller's.

    Objects of files are sent as dry runs, so that the API server and all webhooks answer; without the right
    to write, admission is computed here. PodGroups, Services and routes are those that the controller would
    apply or delete. Left out are managedFields, status, and the record of the expansion.

    Exit code 0: no differences; 1: differences; 2: a file or the cluster cannot be read, or an object is
    refused.
    """
    from fusioninfer import documents  # noqa: PLC0415 - only this subcommand needs it
    from fusioninfer.cluster.diff.plan import differences  # noqa: PLC0415 - other subcommands start without it

    if not (paths or files):
        raise click.UsageError("no file is named: use -f FILE")
    settings = read_settings(config) if config else None
    read, unread = documents.read_all((*paths, *files), recursive=recursive)
    if unread:
        exit_unreadable(*unread)
    home = namespace or _home(kubeconfig, context)
    found = _read(kubeconfig, context, lambda reader: differences(reader, read, home, settings))
    if output == "json":
        _echo_json(
            {
                "changes": [_as_json(one) for one in found.changes],
                "errors": found.errors,
                "notes": found.notes,
            }
        )
    else:
        _print_changes(found)
    sys.exit(UNREADABLE if found.errors else FOUND if found.changes else 0)


def _as_json(change: Any) -> dict[str, Any]:
    from fusioninfer.cluster.diff.change import cleaned, unified  # noqa: PLC0415 - only `diff` needs it

    return {
        "origin": change.origin,
        "action": change.action,
        "apiVersion": change.identity["apiVersion"],
        "kind": change.identity["kind"],
        "namespace": change.identity["metadata"]["namespace"],
        "name": change.identity["metadata"]["name"],
        "exact": change.exact,
        "before": cleaned(change.before),
        "after": cleaned(change.after),
        "diff": unified(change),
    }


def _print_changes(found: Any) -> None:
    from fusioninfer.cluster.diff.change import unified  # noqa: PLC0415 - only `diff` needs it

    for line in (line for change in found.changes for line in unified(change).splitlines()):
        click.secho(line, fg={"+": "green", "-": "red", "@": "cyan"}.get(line[:1]))
    for note in found.notes:
        click.echo(f"{click.style('note', fg='yellow')}: {note}", err=True)
    print_errors(map(ValueError, found.errors))


def _home(kubeconfig: str | None, context: str | None) -> str:
    from kube.client import ConfigError, home_namespace  # noqa: PLC0415 - other subcommands start without it

    try:
        return home_namespace(kubeconfig, context)
    except ConfigError as error:
        exit_unreadable(error)


def _read(kubeconfig: str | None, context: str | None, read: Callable[[Any], Awaitable[T]]) -> T:
    """Connect, read, and disconnect; exit if the cluster cannot be read."""
    from fusioninfer.cluster.reader import NotFoundError, Reader, UnreachableError  # noqa: PLC0415 - as above
    from kube.client import ConfigError, connect  # noqa: PLC0415 - the same

    async def run() -> T:
        client = await connect(kubeconfig, context)
        try:
            return await read(Reader(client))
        finally:
            await client.close()

    try:
        return asyncio.run(run())
    except (ConfigError, NotFoundError, UnreachableError) as error:
        exit_unreadable(error)


def _echo_json(value: Any) -> None:
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
