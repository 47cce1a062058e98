"""Several webhook processes behind one address: connections go to those that are ready, in turn.

Readiness is asked for once a second, so a process that is going away still gets connections for a while, as
it does where nodes have not heard of it yet.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import http_ok
from tests.cluster.testbed.ours import ROOT, start_webhook
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.relay import Relay, relay
from tests.cluster.testbed.wait import kept_doing

HURRIED: Final = "tests.cluster.certificates.hurried"
SHORT_DRAIN: Final = "tests.cluster.testbed.short_drain"
"""The modules of replicas: with frequent checks of certificates, and with a short drain."""
ASKED_EVERY: Final = 1.0


@dataclass(frozen=True, slots=True)
class Replica:
    """A webhook process: its name, its port for reviews, and its plain one."""

    name: str
    port: int
    metrics_port: int


@dataclass(slots=True)
class Replicas:
    """Those that run, and those that were ready when they were last asked."""

    running: list[Replica] = field(default_factory=list)
    ready: list[Replica] = field(default_factory=list)
    turn: Iterator[int] = field(default_factory=count)


def start_replica(
    cluster: Cluster, name: str, directory: Path, module: str = HURRIED, source: Path = ROOT
) -> Replica:
    """Start a webhook with the pair in a directory, of this release or another; wait until it is ready."""
    ports = free_ports(("port", "metrics"))
    replica = Replica(name, ports["port"], ports["metrics"])
    flags = {"--cert-dir": directory, "--port": replica.port, "--metrics-port": replica.metrics_port}
    start_webhook(cluster, module, name, flags, source)
    return replica


def served(replica: Replica) -> bytes:
    """Shake hands, and return the certificate that was shown (PEM)."""
    return ssl.get_server_certificate(("127.0.0.1", replica.port)).encode()


@contextmanager
def balanced(replicas: Replicas) -> Iterator[Relay]:
    """Relay each new connection to the next replica that is ready."""
    ask(replicas)
    with kept_doing(lambda: ask(replicas), every=ASKED_EVERY), relay(lambda: _next(replicas)) as line:
        yield line


def ask(replicas: Replicas) -> None:
    """Ask each replica whether it is ready."""
    replicas.ready = [each for each in replicas.running if http_ok(each.metrics_port, "/readyz")]


def _next(replicas: Replicas) -> int:
    ready = replicas.ready
    return ready[next(replicas.turn) % len(ready)].port
