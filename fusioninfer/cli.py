"""The command. Each verb reads files and settings, calls one function, prints, and sets the exit code."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NoReturn

import click
import orjson

from fusioninfer import __version__, documents, offline
from fusioninfer import settings as settings_file
from fusioninfer.documents import Unreadable
from fusioninfer.offline import Composition, Found
from intent.codes import CODES

OK: Final = 0
REFUSED: Final = 1
UNREADABLE: Final = 2
COLOURS: Final = {"error": "red", "warning": "yellow"}

Command = Callable[..., Any]

FILES: Final = click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="A file, a directory, or - for standard input. May be given more than once.",
)
NAMESPACE: Final = click.option(
    "-n", "--namespace", default="", help="The namespace of objects that name none."
)
CONFIG: Final = click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="The settings file of the servers."
)
METRICS_PORT: Final = click.option(
    "--metrics-port", default=8080, show_default=True, help="Port of /healthz, /readyz and /metrics."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="fusioninfer")
def main() -> None:
    """Turn annotated LeaderWorkerSets into gang-scheduled, multi-node LLM services."""


@main.command()
@FILES
@NAMESPACE
@CONFIG
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@click.option("--admission-only", is_flag=True, help="Leave out what the loop would create.")
def expand(
    files: tuple[str, ...], namespace: str, config: Path | None, output: str, *, admission_only: bool
) -> None:
    """Print every object as admission leaves it, then what the loop would create.

    Exit code 0: printed; 1: an object would be refused, nothing is printed; 2: a file cannot be read.
    """
    made = _composed(files, namespace, config, admission_only=admission_only)
    _tell(made, sys.stderr)
    if made.refused:
        sys.exit(REFUSED)
    objects = list(made.objects)
    click.echo(documents.write_yaml(objects) if output == "yaml" else documents.write_json(objects), nl=False)


@main.command()
@FILES
@NAMESPACE
@CONFIG
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def validate(files: tuple[str, ...], namespace: str, config: Path | None, output: str) -> None:
    """Check files as admission and the loop would.

    Exit code 0: no errors (there may be warnings); 1: errors; 2: a file cannot be read.
    """
    made = _composed(files, namespace, config)
    if output == "json":
        click.echo(orjson.dumps([_as_json(one) for one in made.found], option=orjson.OPT_INDENT_2).decode())
    else:
        _tell(made, sys.stdout)
        errors = sum(one.error.severity == "error" for one in made.found)
        click.echo(f"{errors} errors, {len(made.found) - errors} warnings")
    sys.exit(REFUSED if made.refused else OK)


@main.command()
@FILES
@NAMESPACE
@CONFIG
@click.option("--field", default="", help="Only this field and what is below it.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(files: tuple[str, ...], namespace: str, config: Path | None, field: str, output: str) -> None:
    """Say of every field that admission puts on: what was there, which rule, and because of what.

    Exit code 0: printed; 1: an object would be refused; 2: a file cannot be read.
    """
    from fusioninfer import explain as why  # noqa: PLC0415 - this verb alone needs it

    settings, read = _settings(config), _read(files)
    made = offline.compose(read, settings, namespace=namespace, admission_only=True)
    _tell(made, sys.stderr)
    if made.refused:
        sys.exit(REFUSED)
    found = why.explain(read, settings, field)
    if output == "json":
        click.echo(orjson.dumps([why.as_json(one) for one in found], option=orjson.OPT_INDENT_2).decode())
        return
    click.echo(why.as_text(found))


@main.command()
@click.option("--cert-dir", required=True, type=click.Path(path_type=Path), help="Holds tls.crt and tls.key.")
@click.option("--host", default="0.0.0.0", show_default=True)  # noqa: S104 - a server in a pod
@click.option("--port", default=10250, show_default=True)
@METRICS_PORT
@click.option(
    "--dns-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="What the API server calls us: SERVICE.NAMESPACE.svc. A certificate without it is kept out.",
)
@click.option(
    "--client-ca",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Only callers with a certificate of these authorities are answered: the API server's.",
)
@click.option(
    "--client-name",
    "client_names",
    multiple=True,
    metavar="NAME",
    help="A name one of which that certificate must carry: common name or DNS name.",
)
@CONFIG
def webhook(  # noqa: PLR0913 - each is a flag
    *,
    cert_dir: Path,
    host: str,
    port: int,
    metrics_port: int,
    names: tuple[str, ...],
    client_ca: Path | None,
    client_names: tuple[str, ...],
    config: Path | None,
) -> None:
    """Serve /mutate and /validate on TLS. Reads no API and needs no token."""
    from certs.reload import Source  # noqa: PLC0415 - a server; the offline verbs need none of it
    from fusioninfer import run, serve  # noqa: PLC0415 - other verbs start without it

    if client_names and client_ca is None:
        raise click.UsageError("--client-name needs --client-ca: names prove nothing without it")
    source, settings = Source(cert_dir, names, client_ca), _settings(config)
    run.run(
        serve.webhook(
            source, settings, frozenset(client_names), host=host, port=port, metrics_port=metrics_port
        )
    )


@main.command()
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False),
    help="Default: the service account in a pod, else $KUBECONFIG or the file in the home directory.",
)
@click.option("--context", help="The context of the kubeconfig.")
@click.option("--namespace", default="fusioninfer-system", show_default=True, help="Where its Lease lives.")
@click.option("--lease-duration", default=15.0, show_default=True, help="Seconds until others may lead.")
@click.option("--renew-deadline", default=10.0, show_default=True, help="Seconds until a leader gives up.")
@click.option("--retry-period", default=2.0, show_default=True, help="Seconds between two tries.")
@click.option(
    "--manage-certificates",
    "secret",
    metavar="SECRET",
    help="Keep the webhook's certificates in this Secret, and have its configurations trust them.",
)
@METRICS_PORT
@CONFIG
def sync(
    config: Path | None,
    lease_duration: float,
    renew_deadline: float,
    retry_period: float,
    secret: str | None,
    **where: Any,
) -> None:
    """Run the loop: keep PodGroups, routes, and the sets of InferenceServices. One replica leads, by a Lease.

    Exit code 0: it was asked to stop; 1: it lost the Lease, start it again; 2: no credentials.
    """
    # imported here: they bring the Kubernetes client, for the loop alone
    from fusioninfer import certificates, run, syncing  # noqa: PLC0415 - other verbs start without it
    from sync.client import ConfigError  # noqa: PLC0415 - other verbs start without it
    from sync.lease import Timing  # noqa: PLC0415 - other verbs start without it

    settings = _settings(config)
    if not lease_duration > renew_deadline > retry_period > 0:
        raise click.UsageError("--lease-duration must be over --renew-deadline, and that over --retry-period")
    timing = Timing(lease_duration, renew_deadline, retry_period)
    kept = certificates.Certificates(secret) if secret else None
    try:
        sys.exit(run.run(syncing.sync(settings, timing=timing, certificates=kept, **where)))
    except ConfigError as error:
        _unreadable(error)


@main.command()
@click.option("--plain", is_flag=True, help="No colours and no columns, also on a terminal.")
def demo(*, plain: bool) -> None:
    """Show the main job in seconds: the webhook on TLS, two LeaderWorkerSets before and after."""
    from fusioninfer import demo as show  # noqa: PLC0415 - it starts servers

    sys.exit(show.run(plain=plain))


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell: eval "$(fusioninfer completion bash)"."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - this verb alone needs it

    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(main, {}, "fusioninfer", "_FUSIONINFER_COMPLETE").source())


@main.command()
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def codes(output: str) -> None:
    """List the codes of all findings: what each means, how it comes about, what to do."""
    if output == "json":
        rows = [{"code": code, **asdict(row)} for code, row in CODES.items()]
        click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        return
    for code, row in CODES.items():
        lines = (f"{code}  {row.severity:8}{row.title}", f"often: {row.cause}", f"to do: {row.remedy}")
        click.echo(f"\n{'':15}".join(lines))


@main.command()
@CONFIG
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def engines(config: Path | None, output: str) -> None:
    """List what is known of engines: images, flags and connectors by version, each with its source.

    Rows of the file that the settings name as `engines` come first. Exit code 2: a file cannot be read.
    """
    from fusioninfer import engines as facts  # noqa: PLC0415 - this verb alone needs it

    tables = facts.tables(_settings(config).engines)
    if output == "json":
        click.echo(orjson.dumps(tables, option=orjson.OPT_INDENT_2).decode())
        return
    for title, rows in tables.items():
        click.secho(title, bold=True)
        click.echo(facts.columns(rows))


def _composed(
    files: tuple[str, ...], namespace: str, config: Path | None, *, admission_only: bool = False
) -> Composition:
    settings = _settings(config)
    return offline.compose(_read(files), settings, namespace=namespace, admission_only=admission_only)


def _read(files: tuple[str, ...]) -> list[documents.Document]:
    try:
        return documents.read(files)
    except Unreadable as error:
        _unreadable(error)


def _settings(config: Path | None) -> Any:
    try:
        return settings_file.read(config)
    except Unreadable as error:
        _unreadable(error)


def _unreadable(error: Exception) -> NoReturn:
    click.secho(f"error: {error}", fg="red", err=True)
    sys.exit(UNREADABLE)


def _tell(made: Composition, stream: Any) -> None:
    for one in made.found:
        label = click.style(one.error.severity, fg=COLOURS[one.error.severity])
        click.echo(f"{one.document}: {label}: {one.error}", file=stream)


def _as_json(one: Found) -> dict[str, Any]:
    return {
        "file": one.document.file,
        "document": one.document.number,
        "severity": one.error.severity,
        "code": one.error.code,
        "field": one.error.path,
        "value": one.error.value,
        "message": one.error.message,
        "cause": CODES[one.error.code].cause,
        "remedy": CODES[one.error.code].remedy,
    }
