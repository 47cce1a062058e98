"""The subcommands of the two servers: their flags. Each imports its own modules only when it runs."""

import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Final

import click

from fusioninfer.cli.options import CONFIG, CONTEXT, KUBECONFIG, as_namespace, exit_unreadable, read_settings
from intent.names import SYSTEM_NAMESPACE
from sync import LEASE_DURATION, RENEW_DEADLINE, RETRY_PERIOD, WORKERS

WEBHOOK: Final = """\b
Examples:
  fusioninfer webhook --cert-dir /etc/certs --dns-name fusioninfer-webhook.fusioninfer-system.svc
  fusioninfer webhook --cert-dir /etc/certs --host 127.0.0.1 --port 10250
"""
SYNC: Final = """\b
Examples:
  fusioninfer sync
  fusioninfer sync --context kind-kind --observe-only
  fusioninfer sync --watch-namespace llm --config settings.yaml
"""
SET_HERE: Final = ("observe_only", "namespaces", "templates_namespace")
"""The flags of the controller that are settings too."""
PORT: Final = click.IntRange(0, 65535)
_default: Final = partial(click.option, show_default=True)
_port: Final = partial(click.option, type=PORT)
_file: Final = partial(click.option, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
_namespace: Final = partial(click.option, type=as_namespace, metavar="NAME")
_names: Final = partial(click.option, multiple=True, metavar="NAME")
METRICS_PORT: Final = _port(
    "--metrics-port", default=8080, show_default=True, help="Port of /healthz, /readyz and /metrics."
)
SECURE_METRICS_PORT: Final = "--secure-metrics-port"
LOG_LEVEL: Final = _default(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    help="The lowest level of the log lines that are written.",
)


def network(value: str) -> IPv4Network | IPv6Network:
    """Parse a network. One with bits beyond the prefix, or of IPv4 in IPv6, is a usage error."""
    try:
        parsed = ip_network(value)
    except ValueError as error:
        raise click.BadParameter(f"{error}; use the form 10.0.0.0/24 or fd00::/64") from error
    mapped = parsed.network_address.ipv4_mapped if isinstance(parsed, IPv6Network) else None
    if mapped:
        form = f"{mapped}/{parsed.prefixlen - 96}"
        raise click.BadParameter(f"{value} has addresses of IPv4, which arrive as such; write {form}")
    return parsed


@click.command(epilog=WEBHOOK)
@click.option(
    "--cert-dir", required=True, type=click.Path(path_type=Path), help="The directory of tls.crt and tls.key."
)
@_default("--host", default="0.0.0.0", help="The address to listen on.")  # noqa: S104 - a server in a pod
@_port("--port", default=10250, show_default=True, help="Port of /mutate and /validate (TLS).")
@METRICS_PORT
@_port(
    SECURE_METRICS_PORT,
    help="Port of /metrics with TLS, for clients with a certificate of --metrics-client-ca; it is not on "
    "--metrics-port then.",
)
@_file("--metrics-client-ca", help="The CA of the certificates of clients that may read the metrics.")
@_names(
    "--dns-name",
    "names",
    help="The name that the API server calls: SERVICE.NAMESPACE.svc. A certificate without it is not served.",
)
@_file("--client-ca", help="Answer only clients with a certificate of this CA: the API server's client CA.")
@_names(
    "--client-name",
    "client_names",
    help="Answer only clients whose certificate has this common name or DNS name. May be repeated.",
)
@click.option(
    "--caller-cidr",
    "networks",
    type=network,
    multiple=True,
    metavar="CIDR",
    help="Serve callers from these addresses first, as they arrive at the pod: the API servers', or those of "
    "their tunnel. With --client-ca, only their handshakes. May be repeated.",
)
@_namespace(
    "--templates-namespace",
    default="",
    help="Read InferenceTemplates: those of an object's namespace, then those of this one. Without it, no "
    "access to the Kubernetes API is needed. Requires --client-ca and --client-name.",
)
@click.option(
    "--templates-any-caller",
    is_flag=True,
    help="Read templates for callers without a certificate too: every pod may then read every template.",
)
@KUBECONFIG
@LOG_LEVEL
@CONFIG
def webhook(  # noqa: PLR0913 - each is a flag
    *,
    cert_dir: Path,
    host: str,
    port: int,
    metrics_port: int,
    secure_metrics_port: int | None,
    metrics_client_ca: Path | None,
    names: tuple[str, ...],
    client_ca: Path | None,
    client_names: tuple[str, ...],
    templates_any_caller: bool,
    networks: tuple[IPv4Network | IPv6Network, ...],
    log_level: str,
    config: Path | None,
    **templates: Any,
) -> None:
    """Run the webhook.

    It serves /mutate and /validate on TLS. With --templates-namespace it reads InferenceTemplates; without it
    needs no access to the Kubernetes API.

    Exit code 0: stopped by a signal; 2: a file cannot be read, or a port is in use.
    """
    from certs.reload import CertificateDirectory  # noqa: PLC0415 - the offline subcommands do not need it
    from server import admission, probes, process  # noqa: PLC0415 - other subcommands start without it
    from webhook.server.callers import Callers  # noqa: PLC0415 - other subcommands start without it

    if (secure_metrics_port is None) != (metrics_client_ca is None):
        raise click.UsageError(
            "--secure-metrics-port and --metrics-client-ca require each other: the webhook has no token with "
            "which it could ask who calls"
        )
    if bool(client_names) != bool(client_ca):
        raise click.UsageError(
            "--client-ca and --client-name, the API server's, require each other: without a CA names are not "
            "verified, and the CA signs kubelets and users too"
        )
    if templates["templates_namespace"] and not (client_names or templates_any_caller):
        raise click.UsageError(
            "--templates-namespace requires --client-ca and --client-name: an unknown caller may name any "
            "namespace and read its templates. If every pod may, set --templates-any-caller"
        )
    source, settings = CertificateDirectory(cert_dir, names, client_ca), read_settings(config)
    scraped = None
    with ExitStack() as bound:
        if secure_metrics_port is not None:
            own = CertificateDirectory(cert_dir, names, metrics_client_ca)
            scraped = bound.enter_context(probes.bind(secure_metrics_port, host)), own
        reviewed = bound.enter_context(probes.bind(port, host))
        plain = bound.enter_context(probes.bind(metrics_port, host))
        serving = admission.webhook(
            (reviewed, plain),
            source,
            admission.reviews(settings),
            callers=Callers(frozenset(client_names), networks),
            scraped=scraped,
            **templates,
        )
        process.run(serving, log_level.upper())


@click.command(epilog=SYNC)
@KUBECONFIG
@CONTEXT
@_default(
    "--system-namespace",
    "namespace",
    type=as_namespace,
    metavar="NAME",
    default=SYSTEM_NAMESPACE,
    help="The namespace of FusionInfer, which has the Lease.",
)
@_default(
    "--lease-duration", default=LEASE_DURATION, help="Seconds after which another replica may take the Lease."
)
@_default(
    "--renew-deadline", default=RENEW_DEADLINE, help="Seconds after which a leader that cannot renew stops."
)
@_default(
    "--retry-period",
    default=RETRY_PERIOD,
    help="Seconds between two attempts to take the Lease; it is renewed after at most 1.5 times that.",
)
@click.option(
    "--manage-certificates",
    "secret",
    default="",
    metavar="SECRET",
    help="Issue and rotate the webhook's certificates in this Secret, and write caBundle.",
)
@click.option(
    "--observe-only",
    is_flag=True,
    help="Write nothing and take no Lease; log and count the writes that would be made.",
)
@_namespace(
    "--watch-namespace", "namespaces", multiple=True, help="Watch this namespace only. May be repeated."
)
@click.option(
    "--gangs-only",
    is_flag=True,
    help="Make neither routes nor Services, as with routes and apiServices off in the settings.",
)
@_namespace(
    "--templates-namespace",
    default="",
    help="Watch InferenceTemplates: those of a service's namespace, then those of this one.",
)
@_default(
    "--workers",
    type=click.IntRange(min=1),
    default=WORKERS,
    help="The number of services of one namespace that are reconciled at once, and an eighth of all.",
)
@LOG_LEVEL
@METRICS_PORT
@_port(
    SECURE_METRICS_PORT,
    help="Port of /metrics with TLS, for tokens that may get the path /metrics; it is not on --metrics-port "
    "then.",
)
@CONFIG
def sync(  # noqa: PLR0913 - each is a flag
    *,
    config: Path | None,
    lease_duration: float,
    renew_deadline: float,
    retry_period: float,
    gangs_only: bool,
    log_level: str,
    **flags: Any,
) -> None:
    """Run the controller.

    It reconciles PodGroups, routes and InferenceServices. One replica leads, by a Lease.

    Exit code 0: stopped by a signal; 1: it lost the Lease, restart it; 2: no credentials.
    """
    # imported here: they load the Kubernetes client, which only the controller needs
    from kube.client import ConfigError  # noqa: PLC0415 - other subcommands start without it
    from server import controller, process  # noqa: PLC0415 - other subcommands start without it
    from sync.lease import Timing  # noqa: PLC0415 - other subcommands start without it

    set_here = {name: value for name in SET_HERE if (value := flags.pop(name))}
    without_routes = {"routes": False, "api_services": False} if gangs_only else {}
    settings = replace(read_settings(config), **set_here, **without_routes)
    if not lease_duration > renew_deadline > retry_period > 0:
        raise click.UsageError(
            "--lease-duration must exceed --renew-deadline, which must exceed --retry-period"
        )
    timing = Timing(lease_duration, renew_deadline, retry_period)
    try:
        sys.exit(process.run(controller.sync(settings, timing=timing, **flags), log_level.upper()))
    except ConfigError as error:
        exit_unreadable(error)
