"""Hostile callers that say what they want of namespaces: another caller is hardly delayed, and probes answer.

Where no caller is known, n addresses leave another one 1/(n+1) of what it has without them. `make e2e` runs
the rows of `FEW` and a few addresses alone on the machine, and `make soak SOAK=tenants` all of them.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPSConnection
from itertools import product
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
import trustme

from tests.builders.patience import PATIENCE
from tests.builders.reviews import review
from tests.builders.wire import JSON, post
from tests.hostile import worst
from tests.hostile.alone.test_tenants import BOUND, OTHER, TRIES, longer, undisturbed, waits
from tests.hostile.flood import CONNECTIONS, Flood, Kind, addresses, flooded
from tests.hostile.server import Server, started
from tests.soak import SUMMARY
from tests.tiers import WHOLE

KNOWN: Final = ("certificates", "addresses", "nobody")
FLOODS: Final[dict[str, tuple[Kind, int]]] = {
    "cheap reviews": ("reviews", 0),
    "expensive reviews": ("reviews", 0),
    "expensive reviews of many namespaces": ("reviews", 2000),
    "surprises": ("reviews", 2000),
    "tiny chunks": ("bytes", 0),
    "connections": ("connections", 0),
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
    ("nobody", "surprises", 1),
    ("nobody", "tiny chunks", 1),
    ("addresses", "connections", CONNECTIONS),
    ("nobody", "expensive reviews of many namespaces", 1),
    ("addresses", "metrics", CONNECTIONS),
}
"""Of each kind of caller and each flood one."""
ROWS: Final = sorted(product(KNOWN, FLOODS, FROM) if WHOLE else FEW)
EACH: Final = {4: 25, 100: 4} if WHOLE else {4: 25}
"""By the number of addresses: the connections of each. By connections, the other caller would have less."""
COUNTED: Final = 8
"""The answers of which a share is taken; each takes tens of milliseconds of the second process."""
FAIR: Final = 0.8
"""The least part of an equal share: the answers of others are counted a little longer."""
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


def flood_of(what: str, number: int, directory: Path, ports: tuple[int, int], certificate: str) -> Flood:
    """Return a flood of the port of reviews or that of probes, from a number of addresses."""
    kind, namespaces = FLOODS[what]
    files = {directory / f"{at}": one for at, one in enumerate(sent(what))}
    for file, one in files.items():
        file.write_bytes(one)
    return Flood(
        kind,
        ports[kind[0] == "/"],
        addresses(number),
        CONNECTIONS // number,
        tuple(map(str, files)),
        namespaces,
        certificate if kind in {"reviews", "bytes"} else "",
    )


def sent(what: str) -> tuple[bytes, ...]:
    """Return what a connection of a flood sends in turn: reviews, or bytes."""
    script = worst.bodies()["a script of commands"].replace(b'"namespace":"llm"', b'"namespace":"other"')
    if what == "tiny chunks":
        chunks = b"1\r\nx\r\n" * 80_000
        return (post("/nothing", chunks, Content_Length="", Transfer_Encoding="chunked"),)
    return (OTHER, script) if what == "surprises" else (script if what.startswith("expensive") else OTHER,)


def bounded(known: str, number: int) -> int:
    """Return how many times as long as before another caller may wait."""
    return number + 1 if known == "nobody" and number > 1 else BOUND


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
    bound, ratios, probes = bounded(known, number), [], []
    with serving(tmp_path, known) as (server, certificate):
        flood = flood_of(what, number, tmp_path, (server.port, server.metrics_port), certificate)
        waits(server, 20)
        for _ in range(TRIES):
            quiet = undisturbed(server)
            with flooded(flood):
                ratios.append(longer(quiet, waits(server)))
                probes.append(probed(server))
            if ratios[-1] < bound and probes[-1] < PROBE_SECONDS:
                break

        assert server.is_alive()
    sys.stdout.write(f"{SUMMARY}{known}, {what}, {number} addresses: {min(ratios):.1f} x\n")
    assert (min(ratios) < bound, min(probes) < PROBE_SECONDS) == (True, True)


def ask(server: Server, body: bytes) -> None:
    """Have a caller answered `COUNTED` times, one after the other."""
    with closing(HTTPSConnection("localhost", server.port, context=server.tls, timeout=60)) as line:
        for _ in range(COUNTED):
            line.request("POST", "/mutate", body, {"Content-Type": JSON})
            with line.getresponse() as answer:
                assert (answer.status, b"patchType" in answer.read()) == (200, True)


@pytest.mark.parametrize("number", EACH)
def test_among_n_hostile_addresses_another_one_keeps_its_share(tmp_path: Path, number: int) -> None:
    body = orjson.dumps(review(worst.shell("a;", breaks=1024), namespace="other"))
    (tmp_path / "review").write_bytes(body)

    shares = []
    with serving(tmp_path, "nobody") as (server, _):
        sources = addresses(number)
        files = (str(tmp_path / "review"),)
        flood = Flood("reviews", server.port, sources, EACH[number], files, seconds=5 * PATIENCE)
        for _ in range(TRIES):
            ask(server, body)  # after what is left of a flood
            with flooded(flood) as answered:
                ask(server, body)
            shares.append(COUNTED / (COUNTED + answered[0]))
            if shares[-1] > FAIR / (number + 1):
                break
    sys.stdout.write(f"{SUMMARY}a share among {number} addresses: 1/{1 / max(shares):.1f}\n")
    assert max(shares) > FAIR / (number + 1)
