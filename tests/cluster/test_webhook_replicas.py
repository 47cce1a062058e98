"""Two webhook processes behind one address, of which one is killed while admissions go on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.testbed.admissions import Sent, call_at, stream
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.ours import wait_admission
from tests.cluster.testbed.replicas import (
    SHORT_DRAIN,
    Replicas,
    balanced,
    start_replica,
)
from tests.cluster.testbed.wait import until


@pytest.fixture
def replicas(certified: Cluster, pair: Path) -> Iterator[Replicas]:
    there = Replicas([start_replica(certified, name, pair, SHORT_DRAIN) for name in ("first", "second")])
    yield there
    for each in there.running:
        kill_process(certified, each.name)


@pytest.fixture
def called(certified: Cluster, replicas: Replicas) -> Iterator[Replicas]:
    """Those replicas, as the API server calls them: at one address."""
    with balanced(replicas) as line:
        call_at(certified, line.port)
        wait_admission(certified)
        yield replicas


def test_one_that_is_killed_fails_calls_for_a_moment_only(certified: Cluster, called: Replicas) -> None:
    with stream(certified) as sent:
        until_more(sent)
        before = len(sent.failures)
        killed = called.running.pop()
        kill_process(certified, killed.name)
        until(lambda: killed not in called.ready, "it is known not to be ready")
        until_more(sent)  # with those that were on their way to it
        soon = len(sent.failures)
        until_more(sent)

    assert before == 0
    assert len(sent.failures) == soon


def until_more(sent: Sent) -> None:
    """Wait until many more writes were answered."""
    count = sent.count
    until(lambda: sent.count > count + 50, "many more are sent")
