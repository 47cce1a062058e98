"""Two controllers never write at once, whatever happens to the leader: the audit log shows it.

Hostnames change all the time meanwhile, so that there is always something to write.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Final

import pytest

from tests.cluster.chaos.people import Service, files
from tests.cluster.testbed.api import delete, patch, path
from tests.cluster.testbed.audit import author, intruders, stored
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import LEASE, apply, controller_down, kubeconfig_through, metric
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.ours import start_sync
from tests.cluster.testbed.processes import Process, alive
from tests.cluster.testbed.relay import Relay, cut, mend, relay
from tests.cluster.testbed.services import made
from tests.cluster.testbed.wait import kept_doing, until
from tests.tiers import WHOLE

# --- two controllers ----------------------------------------------------------------------------------
# Each has a line of its own to the API server, and is told apart in the audit log.

TIMING: Final = {"--lease-duration": 8, "--renew-deadline": 5, "--retry-period": 1}
"""A Lease that is lost soon, and not on a busy machine. Between clocks that differ by a third
a second is left."""
FIRST, SECOND = "sync", "sync-other"
"""The one that leads at first, and the one that waits; they are called as in the audit log."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two controllers of a cluster."""

    cluster: Cluster
    lines: Mapping[str, Relay]

    def process(self, name: str) -> Process:
        """Return the process of a controller."""
        return self.cluster.processes[name]

    def leads(self, name: str) -> bool:
        """Return whether a controller thinks that it leads; False if it has ended."""
        if not alive(self.process(name)):
            return False
        return bool(metric(self.cluster.ports[f"{name}-metrics"], "fusioninfer_sync_is_leader"))


@contextmanager
def pair(cluster: Cluster, modules: tuple[str, str] = ("fusioninfer", "fusioninfer")) -> Iterator[Pair]:
    """Run two controllers in place of the usual one until left; the first leads."""
    with controller_down(cluster), ExitStack() as stack:
        target = cluster.ports["kube-apiserver"]
        there = Pair(cluster, {name: stack.enter_context(relay(target)) for name in (FIRST, SECOND)})
        delete(cluster.api, LEASE)
        for name, module in zip(there.lines, modules, strict=True):
            stack.callback(kill_process, cluster, name)
            _start(there, name, module)
            until(lambda: there.leads(FIRST), "the first leads")
        yield there


def _start(there: Pair, name: str, module: str) -> None:
    own = {
        "--kubeconfig": kubeconfig_through(there.cluster, there.lines[name], name),
        "--metrics-port": there.cluster.ports[f"{name}-metrics"],
    }
    start_sync(there.cluster, name, {**own, **TIMING}, module)


NAMES: Final = ("one", "two", "three")
EVERY: Final = 0.02
OUTSTANDING: Final = 10.0
"""Seconds after the other leads by which the first has ended; without a fence a request may take longer."""
AFTERWARDS: Final = 3.0
"""Seconds in which the one that is back might write."""
Fault = Callable[[Pair], AbstractContextManager[None]]


@contextmanager
def paused(two: Pair) -> Iterator[None]:
    """Stop the process, as a machine that sleeps does; it learns nothing of it."""
    os.kill(two.process(FIRST).pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(two.process(FIRST).pid, signal.SIGCONT)


@contextmanager
def cut_off(two: Pair) -> Iterator[None]:
    """End its connections and take no new ones."""
    cut(two.lines[FIRST])
    try:
        yield
    finally:
        mend(two.lines[FIRST])


@contextmanager
def held_up(two: Pair) -> Iterator[None]:
    """Keep what it sends, and pass it on afterwards."""
    two.lines[FIRST].is_held = True
    try:
        yield
    finally:
        two.lines[FIRST].is_held = False


@contextmanager
def slowed(two: Pair) -> Iterator[None]:
    """Have every answer come too late: each way takes more than half of what a call has."""
    two.lines[FIRST].delay = 0.75 * TIMING["--renew-deadline"] / 2
    try:
        yield
    finally:
        two.lines[FIRST].delay = 0.0


@pytest.fixture(scope="module")
def changed(served: Cluster) -> Iterator[str]:
    """A namespace with services whose hostnames `restless` changes."""
    with new_namespace(served) as namespace:
        files_of = (files(Service(name, "workers", there=True)) for name in NAMES)
        apply(served, namespace, *(obj for each in files_of for obj in each))
        until(lambda: len(made(served, namespace)) >= len(NAMES) * 9, "they are made")
        yield namespace


FAULTS: Final[dict[str, Fault]] = {"paused": paused, "cut": cut_off, "held": held_up, "slow": slowed}
TRIED: Final = tuple(FAULTS) if WHOLE else ("paused",)
"""`make soak SOAK=lease` tries all; in `make e2e` a line is held up where clocks are wrong."""
STOPPED: Final = "paused"
"""The fault in which the process itself cannot end: then it writes nothing
(`tests/sync/running/test_suspended.py`)."""
ENDS: Final = "the writes of the first end with its Lease"
CLOCKS: Final = ("tests.cluster.chaos.slow_clock", "tests.cluster.chaos.fast_clock")


@pytest.mark.parametrize("fault", TRIED)
def test_two_controllers_never_write_at_once(served: Cluster, changed: str, fault: str) -> None:
    with pair(served) as two, restless(served, changed):
        befall(two, fault)

    assert intruders(served, changed) == []


def test_two_controllers_with_wrong_clocks_never_write_at_once(served: Cluster, changed: str) -> None:
    with pair(served, CLOCKS) as two, restless(served, changed):
        time.sleep(TIMING["--lease-duration"])
        waited = not two.leads(SECOND)
        befall(two, "held")

    assert (waited, intruders(served, changed)) == (True, [])


def test_a_controller_that_ends_while_it_writes_hands_over_cleanly(served: Cluster, changed: str) -> None:
    with pair(served) as two, restless(served, changed):
        os.kill(two.process(FIRST).pid, signal.SIGTERM)
        until(lambda: two.leads(SECOND), "the other leads")
        writing(two, SECOND)

    assert intruders(served, changed) == []


def befall(two: Pair, fault: str) -> None:
    """Have a fault befall the one that leads, until the other works; it ends as soon as it knows."""
    writing(two, FIRST)
    with FAULTS[fault](two):
        until(lambda: two.leads(SECOND), "the other leads")
        if fault != STOPPED:
            until(lambda: not alive(two.process(FIRST)), ENDS, seconds=OUTSTANDING)
        writing(two, SECOND)
    until(lambda: not alive(two.process(FIRST)), "the first has ended")
    time.sleep(AFTERWARDS)
    assert two.process(FIRST).popen.returncode == 1


def writing(two: Pair, name: str) -> None:
    """Wait until a controller has written something more."""
    before = len([each for each in stored(two.cluster) if author(each) == name])
    until(
        lambda: len([each for each in stored(two.cluster) if author(each) == name]) > before + 3,
        f"{name} writes",
    )


def restless(cluster: Cluster, namespace: str) -> AbstractContextManager[None]:
    """Change the hostnames of services all the time, until left."""
    numbers = count()

    def change() -> None:
        number = next(numbers)
        for name in NAMES:
            hosts = {"fusioninfer.io/hostnames": f"{name}-{number}.example.com"}
            where = path("leaderworkersets", namespace, name)
            patch(cluster.api, where, {"metadata": {"annotations": hosts}})

    return kept_doing(change, every=EVERY)
