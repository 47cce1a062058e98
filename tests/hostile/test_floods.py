"""Hostile callers that say what they want of namespaces: another caller is hardly delayed, and probes answer.

`make test` runs the rows of `FEW`, and `make soak SOAK=tenants` all of them.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
import trustme

from tests.hostile import worst
from tests.hostile.flood import CONNECTIONS, Flood, Kind, addresses, flooded
from tests.hostile.server import Server, started
from tests.hostile.test_tenants import BOUND, OTHER, TRIES, p99
from tests.soak import SUMMARY

KNOWN: Final = ("certificates", "addresses", "nobody")
FLOODS: Final[dict[str, tuple[Kind, int]]] = {
    "cheap reviews": ("reviews", 0),
    "expensive reviews": ("reviews", 0),
    "expensive reviews of many namespaces": ("reviews", 2000),
    "handshakes": ("handshakes", 0),
    "metrics": ("/metrics", 0),
    "probes": ("/readyz", 0),
}
FROM: Final = (1, CONNECTIONS)
FEW: Final = {
    ("certificates", "handshakes", 1),
    ("addresses", "cheap reviews", CONNECTIONS),
    ("addresses", "probes", 1),
    ("nobody", "cheap reviews", 1),
    ("nobody", "expensive reviews of many namespaces", 1),
    ("nobody", "metrics", 1),
}
"""Of each kind of caller and each flood one."""
ROWS: Final = (
    sorted(product(KNOWN, FLOODS, FROM)) if os.environ.get("TENANT_FLOODS") == "all" else sorted(FEW)
)
PROBE_SECONDS: Final = 2.0
"""The timeout of the readiness probe (`manifests/base/webhook-deployment.yaml`)."""


@contextmanager
def serving(directory: Path, known: str) -> Iterator[tuple[Server, str]]:
    """Run a webhook that knows the test's caller, or none; yield the certificate of another client too."""
    options: dict[str, Any] = {"networks": ["127.0.0.1"]} if known == "addresses" else {}
    ca = trustme.CA()
    other = directory / "other.pem"
    ca.issue_cert(common_name="kubelet").private_key_and_cert_chain_pem.write_to_path(other)
    if known == "certificates":
        ca.cert_pem.write_to_path(directory / "ca.pem")
        options = {"ca": str(directory / "ca.pem"), "names": ["apiserver"]}
    (directory / "server").mkdir()
    with started(directory / "server", **options) as server:
        if known == "certificates":
            ca.issue_cert(common_name="apiserver").configure_cert(server.tls)
        yield server, str(other) if known == "certificates" else ""


def probed(server: Server) -> float:
    """Return the longest time in which a probe was answered."""
    found = []
    for path in ("/readyz", "/healthz") * 10:
        since = time.monotonic()
        assert server.get(path) == "ok"
        found.append(time.monotonic() - since)
    return max(found)


@pytest.mark.parametrize(("known", "what", "number"), ROWS)
def test_a_flood_hardly_delays_another_tenant_and_no_probe(
    tmp_path: Path, known: str, what: str, number: int
) -> None:
    kind, namespaces = FLOODS[what]
    script = worst.bodies()["a script of commands"].replace(b'"namespace":"llm"', b'"namespace":"other"')
    (tmp_path / "review").write_bytes(script if what.startswith("expensive") else OTHER)
    bound = BOUND * (number + 1) / 2 if (known, number > 1) == ("nobody", True) else BOUND

    ratios, probes = [], []
    with serving(tmp_path, known) as (server, certificate):
        port = server.metrics_port if kind[0] == "/" else server.port
        flood = Flood(
            kind,
            port,
            addresses(number),
            CONNECTIONS // number,
            str(tmp_path / "review"),
            namespaces,
            certificate if kind == "reviews" else "",
        )
        p99(server, 20)
        for _ in range(TRIES):
            quiet = p99(server)
            with flooded(flood):
                ratios.append(p99(server) / quiet)
                probes.append(probed(server))
            if ratios[-1] < bound and probes[-1] < PROBE_SECONDS:
                break

        assert server.is_alive()
    sys.stdout.write(f"{SUMMARY}{known}, {what}, {number} addresses: {min(ratios):.1f} x\n")
    assert (min(ratios) < bound, min(probes) < PROBE_SECONDS) == (True, True)
