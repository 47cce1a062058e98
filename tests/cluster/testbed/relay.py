"""A relay between somebody and a port of loopback; it can be cut and slowed: a bad network."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from tests.cluster.testbed.wait import until

CHUNK: Final = 65536
HELD: Final = 0.02
"""Seconds between two looks whether data is still kept."""


@dataclass(slots=True)
class Relay:
    """Connections to `port` go on to a target; each piece of data is late by `delay` seconds, both ways."""

    target: Callable[[], int]
    """Chooses the port on loopback for a new connection."""
    listener: socket.socket
    delay: float = 0.0
    is_cut: bool = False
    is_held: bool = False
    """Whether what is sent to the target waits somewhere on the way, and comes late; answers come at once."""
    accepted: int = 0
    """How many connections there were."""
    ends: set[socket.socket] = field(default_factory=set)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.listener.getsockname()[1])


@contextmanager
def relay(target: int | Callable[[], int], at: socket.socket | None = None) -> Iterator[Relay]:
    """Relay connections until left: those to a port of loopback, or to a socket that listens elsewhere.

    The target is a port of loopback, or what chooses one for each connection.
    """
    with at or socket.create_server(("127.0.0.1", 0)) as listener:
        line = Relay(target if callable(target) else lambda: target, listener)
        acceptor = threading.Thread(target=_accept, args=(line,), daemon=True)
        acceptor.start()
        try:
            yield line
        finally:
            cut(line)
            listener.shutdown(socket.SHUT_RDWR)
            acceptor.join()


def cut(line: Relay) -> None:
    """Break every connection, and refuse new ones."""
    line.is_cut = True
    _break(*line.ends)


def hang_up(line: Relay) -> None:
    """End every connection, and wait until both sides know: the next requests need new ones.

    A client that has not noticed yet would send a request on a dead connection. No request may be pending,
    except on a connection that a client opened and did not use.
    """

    def ended() -> bool:
        for end in tuple(line.ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_WR)
        return not line.ends

    until(ended, "every connection has ended", every=0.005)


def mend(line: Relay) -> None:
    """Accept connections again."""
    line.is_cut = False


def _accept(line: Relay) -> None:
    while True:
        try:
            near, _ = line.listener.accept()
        except OSError:
            return
        line.accepted += 1
        threading.Thread(target=_serve, args=(line, near), daemon=True).start()


def _serve(line: Relay, near: socket.socket) -> None:
    """Join two sockets until both have ended, or one breaks."""
    with near, suppress(OSError):
        if line.is_cut:
            return
        with socket.create_connection(("127.0.0.1", line.target())) as far:
            line.ends |= {near, far}
            answers = threading.Thread(target=_copy, args=(line, far, near), daemon=True)
            answers.start()
            _copy(line, near, far, to_target=True)
            answers.join()
            line.ends -= {near, far}


def _copy(line: Relay, source: socket.socket, sink: socket.socket, *, to_target: bool = False) -> None:
    """Copy until the source ends, and tell the sink; what the sink has to say is copied until it ends too."""
    try:
        while piece := source.recv(CHUNK):
            time.sleep(line.delay)
            while to_target and line.is_held:
                time.sleep(HELD)
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        _break(source, sink)


def _break(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
