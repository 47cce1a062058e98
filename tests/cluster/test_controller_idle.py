"""An idle controller asks nothing of the API server. `make soak SOAK=idle` watches it for a minute."""

import http.client
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import pytest

from intent import Object
from tests.cluster.testbed.audit import come_to_rest, requests, words, writes
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import DECODE, MONOLITHIC, PREFILL, SERVICE, apply, pod_group, told
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read

SECONDS: Final = 8.0
"""Longer than the controller takes for a repair, an Event, or a second try."""
RESTING: Final = "resting"
WAITING: Final = named(read(PREFILL), "waiting-prefill", service="waiting")
EMPTIED: Final = (
    named(read(PREFILL), "resting-prefill", service=RESTING),
    named(read(DECODE), "resting-decode", service=RESTING),
)
PODS: Final = 30


@dataclass(frozen=True, slots=True)
class Idle:
    """The requests of the controller while nothing changed."""

    requests: list[Object]
    writes: list[Object]


@pytest.fixture(scope="module")
def idle(fusioninfer: Cluster) -> Iterator[Idle]:
    with new_namespace(fusioninfer) as namespace:
        at_rest(fusioninfer, namespace)
        yield recorded(fusioninfer, SECONDS)


def test_an_idle_controller_writes_nothing(idle: Idle) -> None:
    assert list(map(words, idle.writes)) == []


def test_an_idle_controller_reads_no_objects(idle: Idle) -> None:
    assert list(map(words, reads(idle))) == []


def recorded(cluster: Cluster, seconds: float) -> Idle:
    """Wait, and return what the controller asked of the API server meanwhile."""
    asked, wrote = len(requests(cluster)), len(writes(cluster))
    time.sleep(seconds)
    return Idle(requests(cluster)[asked:], writes(cluster)[wrote:])


def reads(idle: Idle) -> list[Object]:
    """Return the requests that read objects of installed kinds; the controller polls for the other kinds."""
    return [
        each
        for each in idle.requests
        if each["verb"] in {"list", "get"} and each["responseStatus"]["code"] != http.client.NOT_FOUND
    ]


def at_rest(cluster: Cluster, namespace: str) -> None:
    """Apply a service of each sort, and wait until everything is done and reported."""
    apply(cluster, namespace, PREFILL, DECODE, MONOLITHIC, WAITING, *EMPTIED)
    for service in (SERVICE, "deepseek-r1-inference", RESTING):
        until(partial(pod_group, cluster, namespace, service), f"the PodGroup of {service}")
    until(lambda: told(cluster, namespace), "an Event reports the one that waits")
    wait_pods(cluster, namespace, PODS)
    come_to_rest(cluster)
