"""One connection to the webhook, kept: the whole request is one write, its answer is read and no more.

A client that does little leaves the machine to the server.
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tests.bench.report import WrongAnswerError

_LENGTH: Final = b"content-length: "


@dataclass(frozen=True, slots=True)
class Line:
    """A connection over TLS, as an API server keeps it."""

    sock: ssl.SSLSocket

    def ask(self, request: bytes) -> bytes:
        """Send a request, and give the body of its answer."""
        self.send(request)
        return self.answer()

    def send(self, request: bytes) -> None:
        """Send a whole request at once."""
        self.sock.sendall(request)

    def answer(self) -> bytes:
        """Return the body of the next answer; raises unless that is a success."""
        got = self.sock.recv(65536)
        while (end := got.find(b"\r\n\r\n")) < 0:
            got += self._more()
        head, body = got[:end].lower(), bytearray(got[end + 4 :])
        while len(body) < _length(head):
            body += self._more()
        if not head.startswith(b"http/1.1 200"):
            raise WrongAnswerError(f"{head[:80]!r}: {bytes(body[:200])!r}")
        return bytes(body)

    def _more(self) -> bytes:
        got = self.sock.recv(65536)
        if not got:
            raise WrongAnswerError("the connection was closed")
        return got


def _length(head: bytes) -> int:
    return int(head[head.index(_LENGTH) + len(_LENGTH) :].split(b"\r\n", 1)[0])


@contextmanager
def connected(port: int, trust: ssl.SSLContext) -> Iterator[Line]:
    """Connect to a port of loopback."""
    plain = socket.create_connection(("127.0.0.1", port), timeout=20)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as Go does
    with trust.wrap_socket(plain, server_hostname="localhost") as sock:
        yield Line(sock)


def request(path: str, body: bytes) -> bytes:
    """Write a request as an API server does."""
    head = (
        f"POST {path}?timeout=5s HTTP/1.1\r\nHost: localhost\r\n"
        f"User-Agent: kube-apiserver-admission\r\nContent-Length: {len(body)}\r\n"
        "Accept: application/json, */*\r\nContent-Type: application/json\r\n\r\n"
    )
    return head.encode() + body
