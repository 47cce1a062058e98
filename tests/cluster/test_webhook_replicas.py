"""Two webhook processes behind one address, replaced one after the other while admissions go on."""

import http.client
import signal
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import orjson
import pytest

from tests.builders.patience import PATIENCE
from tests.builders.reviews import review
from tests.cluster.testbed.admissions import Sent, call_at, stream
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import http_ok
from tests.cluster.testbed.control_plane import kill_process, stop_process
from tests.cluster.testbed.ours import wait_admission
from tests.cluster.testbed.replicas import (
    SHORT_DRAIN,
    Replica,
    Replicas,
    balanced,
    start_replica,
)
from tests.cluster.testbed.wait import until

REVIEW: Final = orjson.dumps(review({"metadata": {}}))


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


def test_no_call_fails_while_every_replica_is_replaced(
    certified: Cluster, pair: Path, called: Replicas
) -> None:
    statuses = []

    with stream(certified) as sent:
        for old in tuple(called.running):
            called.running.append(start_replica(certified, f"{old.name}-again", pair, SHORT_DRAIN))
            until_more(sent)
            statuses.append(stop_process(certified, old.name))
            called.running.remove(old)
            until_more(sent)
    assert sent.failures == []
    assert statuses == [0, 0]


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


def test_a_request_is_answered_though_its_replica_was_terminated_meanwhile(
    certified: Cluster, replicas: Replicas
) -> None:
    replica = replicas.running[0]
    with begun(certified, replica) as rest:
        ask_to_end(certified, replica)
        until(lambda: not http_ok(replica.metrics_port, "/readyz"), "it is not ready any more")

        response = rest()

    assert (response.status, response.headers["Connection"]) == (200, "close")
    assert orjson.loads(response.read())["response"]["allowed"] is True


def test_who_was_told_to_end_takes_new_connections_for_a_while(
    certified: Cluster, replicas: Replicas
) -> None:
    replica = replicas.running[0]
    ask_to_end(certified, replica)
    until(lambda: not http_ok(replica.metrics_port, "/readyz"), "it is not ready any more")

    with begun(certified, replica) as rest:
        assert rest().status == 200


def until_more(sent: Sent) -> None:
    """Wait until many more writes were answered."""
    count = sent.count
    until(lambda: sent.count > count + 50, "many more are sent")


@contextmanager
def begun(cluster: Cluster, replica: Replica) -> Iterator[Callable[[], http.client.HTTPResponse]]:
    """Send a review but for its last byte; yields what sends that, and returns the answer."""
    tls = ssl.create_default_context(cadata=cluster.authority_pem.decode())
    connection = http.client.HTTPSConnection("127.0.0.1", replica.port, timeout=PATIENCE, context=tls)

    def rest() -> http.client.HTTPResponse:
        connection.send(REVIEW[-1:])
        return connection.getresponse()

    connection.putrequest("POST", "/mutate?timeout=15s")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(REVIEW)))
    connection.endheaders(REVIEW[:-1])
    try:
        yield rest
    finally:
        connection.close()


def ask_to_end(cluster: Cluster, replica: Replica) -> None:
    cluster.processes[replica.name].popen.send_signal(signal.SIGTERM)
