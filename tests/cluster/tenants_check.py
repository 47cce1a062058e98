"""Floods of the webhook beside writes through the real API server. `make soak SOAK=tenants` runs it.

The webhook is one of its own, at the port where the API server presents its certificate. The API server calls
it from 127.0.0.1; the floods come from other addresses of loopback, with another certificate of the same CA.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from intent import Object
from intent.annotations import EXPANSION, SERVICE
from tests.cluster.testbed.admissions import called
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.wait import until
from tests.hostile.alone.test_floods import FLOODS, FROM, bounded, flood_of
from tests.hostile.alone.test_tenants import TRIES, longer, middle_and_p99
from tests.hostile.flood import flooded
from tests.soak import SUMMARY

WRITES: Final = 100
CA: Final = "ca.crt"
KNOWN: Final[dict[str, dict[str, str]]] = {
    "certificates": {"--client-ca": CA, "--client-name": "kube-apiserver"},
    "addresses": {"--caller-cidr": "127.0.0.1"},
    "nobody": {},
}
"""The flags; those of files name them in the folder of the cluster."""


def write(cluster: Cluster) -> Object:
    """Send a tenant's write as a dry run."""
    trial = {**TRIAL_LWS, "metadata": {"generateName": "trial-", "annotations": {SERVICE: "trial"}}}
    return create(cluster.api, path("leaderworkersets", "default"), trial, dryRun="All")


def is_expanded(written: Object) -> bool:
    return EXPANSION in written["metadata"]["annotations"]


def waits(send: Callable[[], Object], *, may_end: bool = False) -> tuple[float, float]:
    """Return the median and the p99 of a tenant's writes, in seconds; each must be expanded.

    `may_end` allows that the API server's patience ends: a hundred callers may each take a turn first.
    """
    found = []
    for _ in range(WRITES):
        since = time.perf_counter()
        try:
            assert is_expanded(send())
        except ApiError as error:
            if not (may_end and "deadline exceeded" in str(error)):
                raise
        found.append(time.perf_counter() - since)
    return middle_and_p99(found)


@pytest.mark.parametrize("number", FROM)
@pytest.mark.parametrize("what", FLOODS)
@pytest.mark.parametrize("known", KNOWN)
def test_a_tenants_writes_are_hardly_delayed(
    fusioninfer: Cluster, tmp_path: Path, known: str, what: str, number: int
) -> None:
    bound, is_share = bounded(known, number), known == "nobody" and number > 1
    flags = {
        flag: fusioninfer.directory / value if value == CA else value for flag, value in KNOWN[known].items()
    }
    fusioninfer.authority.issue_cert("kubelet").private_key_and_cert_chain_pem.write_to_path(
        tmp_path / "other.pem"
    )
    ports = fusioninfer.ports["webhook-known"], fusioninfer.ports["webhook-known-metrics"]

    ratios = []
    with called(fusioninfer, flags, ports[0]):
        until(lambda: is_expanded(write(fusioninfer)), "the API server calls it")
        flood = flood_of(what, number, tmp_path, ports, str(tmp_path / "other.pem"))
        for _ in range(TRIES):
            quiet = waits(lambda: write(fusioninfer))
            with flooded(flood):
                beside = waits(lambda: write(fusioninfer), may_end=is_share)
            ratios.append(longer(quiet, beside))
            if ratios[-1] < bound or is_share:
                break

    sys.stdout.write(f"{SUMMARY}API server, {known}, {what}, {number} addresses: {min(ratios):.1f} x\n")
    assert min(ratios) < bound or is_share  # `test_among_n_hostile_addresses_another_one_keeps_its_share`
