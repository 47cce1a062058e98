"""Floods of the webhook beside writes through the real API server. `make soak SOAK=tenants` runs it.

The webhook is one of its own, on a port of its own. The API server calls it from 127.0.0.1; the floods come
from other addresses of loopback.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Final

import pytest

from intent import Object
from intent.annotations import EXPANSION, SERVICE
from tests.cluster.testbed.admissions import call_at
from tests.cluster.testbed.api import create, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.ours import start_webhook
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.wait import until
from tests.hostile import worst
from tests.hostile.flood import CONNECTIONS, Flood, addresses, flooded
from tests.hostile.test_floods import FLOODS, FROM
from tests.hostile.test_tenants import BOUND, OTHER, TRIES
from tests.soak import SUMMARY

NAME: Final = "webhook-flooded"
WRITES: Final = 200
KNOWN: Final = {"addresses": {"--caller-cidr": "127.0.0.1"}, "nobody": {}}


@contextmanager
def called(cluster: Cluster, flags: Object) -> Iterator[dict[str, int]]:
    """Have the API server call a webhook with these flags, and afterwards the usual one again."""
    ports = free_ports([NAME, "metrics"])
    start_webhook(
        cluster, name=NAME, flags={"--port": ports[NAME], "--metrics-port": ports["metrics"], **flags}
    )
    try:
        call_at(cluster, ports[NAME])
        until(lambda: is_expanded(write(cluster)), "the API server calls it")
        yield ports
    finally:
        call_at(cluster, cluster.ports["webhook"])
        kill_process(cluster, NAME)


def write(cluster: Cluster) -> Object:
    """Send a tenant's write as a dry run."""
    trial = {**TRIAL_LWS, "metadata": {"generateName": "trial-", "annotations": {SERVICE: "trial"}}}
    return create(cluster.api, path("leaderworkersets", "default"), trial, dryRun="All")


def is_expanded(written: Object) -> bool:
    return EXPANSION in written["metadata"]["annotations"]


def p99(send: Callable[[], Object]) -> float:
    """Return the p99 of a tenant's writes, in seconds; each must be expanded."""
    found = []
    for _ in range(WRITES):
        since = time.perf_counter()
        assert is_expanded(send())
        found.append(time.perf_counter() - since)
    return quantiles(found, n=100)[98]


@pytest.mark.parametrize("number", FROM)
@pytest.mark.parametrize("what", FLOODS)
@pytest.mark.parametrize("known", KNOWN)
def test_a_tenants_writes_are_hardly_delayed(
    fusioninfer: Cluster, tmp_path: Path, known: str, what: str, number: int
) -> None:
    kind, namespaces = FLOODS[what]
    script = worst.bodies()["a script of commands"].replace(b'"namespace":"llm"', b'"namespace":"other"')
    (tmp_path / "review").write_bytes(script if what.startswith("expensive") else OTHER)
    bound = BOUND * (number + 1) / 2 if known == "nobody" and number > 1 else BOUND

    ratios = []
    with called(fusioninfer, KNOWN[known]) as ports:
        port = ports["metrics" if kind[0] == "/" else NAME]
        flood = Flood(
            kind, port, addresses(number), CONNECTIONS // number, str(tmp_path / "review"), namespaces
        )
        for _ in range(TRIES):
            quiet = p99(lambda: write(fusioninfer))
            with flooded(flood):
                ratios.append(p99(lambda: write(fusioninfer)) / quiet)
            if ratios[-1] < bound:
                break

    sys.stdout.write(f"{SUMMARY}API server, {known}, {what}, {number} addresses: {min(ratios):.1f} x\n")
    assert min(ratios) < bound
