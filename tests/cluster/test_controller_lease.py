"""When the one that leads is killed, the other takes over."""

from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import (
    DECODE,
    PREFILL,
    apply,
    becomes,
    metric,
    offline,
    other_controllers,
    pod_group,
)
from tests.cluster.testbed.wait import until

TIMING: Final = {"--lease-duration": 10, "--renew-deadline": 7, "--retry-period": 1}
"""A Lease that ends soon after its holder, and that a busy machine renews in time."""


@pytest.fixture
def two(fusioninfer: Cluster) -> Iterator[Mapping[str, int]]:
    with other_controllers(fusioninfer, {"sync-a": TIMING, "sync-b": TIMING}) as ports:
        until(lambda: leaders(ports), "one of them leads")
        yield ports


def test_when_the_leader_is_killed_the_other_one_takes_over(
    fusioninfer: Cluster, namespace: str, two: Mapping[str, int]
) -> None:
    apply(fusioninfer, namespace, PREFILL)
    (killed,) = leaders(two)
    other = {name: port for name, port in two.items() if name != killed}

    kill_process(fusioninfer, killed)
    apply(fusioninfer, namespace, DECODE)

    now = offline(namespace, PREFILL, DECODE)
    made = becomes(lambda: pod_group(fusioninfer, namespace), now)
    assert (now, list(other)) == (made, leaders(other))


def leaders(ports: Mapping[str, int]) -> list[str]:
    """Return the names of the controllers that work."""
    return [name for name, port in ports.items() if metric(port, "fusioninfer_sync_is_leader")]
