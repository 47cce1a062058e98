"""A line between two ends: who has not heard that the other ended may still say something."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.builders.patience import PATIENCE
from tests.cluster.testbed.relay import relay

Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """A client and a server that are joined by a relay."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        line = stack.enter_context(relay(int(listener.getsockname()[1])))
        client = stack.enter_context(socket.create_connection(("127.0.0.1", line.port), timeout=PATIENCE))
        server = stack.enter_context(listener.accept()[0])
        server.settimeout(PATIENCE)
        yield client, server


def test_data_of_a_client_is_relayed_after_its_server_ended(ends: Ends) -> None:
    client, server = ends
    server.shutdown(socket.SHUT_WR)
    assert client.recv(1) == b""

    client.sendall(b"more")

    assert server.recv(4) == b"more"


def test_data_of_a_server_is_relayed_after_its_client_ended(ends: Ends) -> None:
    client, server = ends
    client.shutdown(socket.SHUT_WR)
    assert server.recv(1) == b""

    server.sendall(b"more")

    assert client.recv(4) == b"more"
