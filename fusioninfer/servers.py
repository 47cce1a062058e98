"""The two servers as verbs: their flags, and what is imported for them alone."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from fusioninfer.options import CONFIG, read_settings, unreadable

METRICS_PORT: Final = click.option(
    "--metrics-port", default=8080, show_default=True, help="Port of /healthz, /readyz and /metrics."
)


@click.command()
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
    source, settings = Source(cert_dir, names, client_ca), read_settings(config)
    run.run(
        serve.webhook(
            source, settings, frozenset(client_names), host=host, port=port, metrics_port=metrics_port
        )
    )


@click.command()
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
@click.option(
    "--observe-only",
    is_flag=True,
    help="Write nothing and take no Lease; log and count what would be written.",
)
@METRICS_PORT
@CONFIG
def sync(  # noqa: PLR0913 - each is a flag
    *,
    config: Path | None,
    lease_duration: float,
    renew_deadline: float,
    retry_period: float,
    secret: str | None,
    observe_only: bool,
    **where: Any,
) -> None:
    """Run the loop: keep PodGroups, routes, and the sets of InferenceServices. One replica leads, by a Lease.

    Exit code 0: it was asked to stop; 1: it lost the Lease, start it again; 2: no credentials.
    """
    # imported here: they bring the Kubernetes client, for the loop alone
    from fusioninfer import certificates, run, syncing  # noqa: PLC0415 - other verbs start without it
    from kube.client import ConfigError  # noqa: PLC0415 - other verbs start without it
    from sync.runtime.lease import Timing  # noqa: PLC0415 - other verbs start without it

    settings = read_settings(config)
    settings = replace(settings, observe_only=observe_only or settings.observe_only)
    if not lease_duration > renew_deadline > retry_period > 0:
        raise click.UsageError("--lease-duration must be over --renew-deadline, and that over --retry-period")
    timing = Timing(lease_duration, renew_deadline, retry_period)
    kept = certificates.Certificates(secret) if secret else None
    try:
        sys.exit(run.run(syncing.sync(settings, timing=timing, certificates=kept, **where)))
    except ConfigError as error:
        unreadable(error)
