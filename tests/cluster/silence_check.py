"""The silence that ends a watch, as long as it really is. `make soak SOAK=silence` runs it.

Two controllers share one wait: one of them receives nothing any more, the other receives bookmarks only.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from kube.client import SILENCE
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process, log_of
from tests.cluster.testbed.controllers import (
    DECODE,
    PREFILL,
    SERVICE,
    Required,
    apply,
    becomes,
    kubeconfig_through,
    metric,
    other_controllers,
    required,
    told,
)
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.ours import start_sync
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.relay import deafen, relay
from tests.cluster.testbed.wait import until

DEAF, HEARING = "sync-deaf", "sync-hearing"
PATIENT: Final = {"--lease-duration": 60, "--renew-deadline": 45, "--retry-period": 4}
GANG: Final = (6, {f"{SERVICE}-prefill": (1, 2), f"{SERVICE}-decode": (1, 4)})
"""The requirements of the PodGroup of the two files."""


@dataclass(frozen=True, slots=True)
class Waited:
    """The PodGroup after the change, the seconds until then, and the log of the hearing controller."""

    required: Required
    seconds: float
    log: str


@pytest.fixture(scope="module")
def waited(fusioninfer: Cluster) -> Iterator[Waited]:
    port = free_ports([HEARING])[HEARING]
    with new_namespace(fusioninfer) as namespace, relay(fusioninfer.ports["kube-apiserver"]) as line:
        flags = {**PATIENT, "--kubeconfig": kubeconfig_through(fusioninfer, line)}
        with other_controllers(fusioninfer, {DEAF: flags}) as ports:
            until(lambda: metric(ports[DEAF], "fusioninfer_sync_is_leader"), "the deaf one leads")
            start_sync(fusioninfer, HEARING, {"--metrics-port": port, **PATIENT})
            try:
                yield waited_for(fusioninfer, namespace, lambda: deafen(line))
            finally:
                kill_process(fusioninfer, HEARING)


def waited_for(cluster: Cluster, namespace: str, begin: Callable[[], None]) -> Waited:
    """Apply prefill, begin the silence, apply decode; wait until it is noticed, and for the bookmarks."""
    apply(cluster, namespace, PREFILL)
    until(lambda: told(cluster, namespace), "an Event reports that it waits")
    heard = len(log_of(cluster, HEARING).read_text())
    begin()
    began = time.monotonic()
    apply(cluster, namespace, DECODE)
    found = becomes(lambda: required(cluster, namespace), GANG, SILENCE + PATIENCE)
    seconds = time.monotonic() - began
    time.sleep(max(0.0, SILENCE + 20 - seconds))
    return Waited(found, seconds, log_of(cluster, HEARING).read_text()[heard:])


def test_a_watch_without_news_is_replaced(waited: Waited) -> None:
    assert waited.required == GANG
    assert waited.seconds > 15, "it received nothing for a while"


def test_api_servers_send_bookmarks_more_often_than_a_watch_may_be_silent(waited: Waited) -> None:
    given_up = [
        line for line in waited.log.splitlines() if "list or watch failed" in line and "Timeout" in line
    ]

    assert given_up == [], "kinds that are not installed are listed again, which is no silence"
