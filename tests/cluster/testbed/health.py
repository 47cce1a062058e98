"""The health of a gRPC server (`grpc.health.v1`), asked in the least HTTP/2 that is a request (RFC 9113).

The kubelet asks so too. One answer is expected, and of it only the message is read.
"""

import socket
import struct
from collections.abc import Callable, Iterator
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, GOAWAY = 0, 1, 4, 7
END_STREAM, END_HEADERS = 1, 4
SERVING: Final = b"\x08\x01"
"""HealthCheckResponse with its first field, the status, at 1."""


def serving(connection: socket.socket, service: str) -> bool:
    """Ask whether a service is SERVING; False also if the server does not know it."""
    request = b"\x0a" + bytes([len(service)]) + service.encode() if service else b""
    connection.sendall(
        PREFACE
        + _frame(SETTINGS, 0, 0, b"")
        + _frame(HEADERS, END_HEADERS, 1, _headers(connection))
        + _frame(DATA, END_STREAM, 1, _message(request))
    )
    with connection.makefile("rb") as stream:
        for kind, flags, payload in _frames(stream.read):
            if kind == DATA and payload:
                return payload == _message(SERVING)
            if kind == GOAWAY or (kind == HEADERS and flags & END_STREAM):
                return False
    return False


def _headers(connection: socket.socket) -> bytes:
    """Return the request's header fields as literals that are not indexed (RFC 7541, section 6.2.2)."""
    address, port = connection.getpeername()[:2]
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/grpc.health.v1.Health/Check",
        ":authority": f"{address}:{port}",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    return b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields.items())


def _text(word: str) -> bytes:
    return bytes([len(word)]) + word.encode()


def _message(body: bytes) -> bytes:
    """Return a message as gRPC sends it: not compressed, its length first."""
    return struct.pack("!BI", 0, len(body)) + body


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def _frames(read: Callable[[int], bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Read frames until the connection ends: kind, flags, payload."""
    while len(head := read(9)) == 9:
        (length,) = struct.unpack("!I", b"\x00" + head[:3])
        yield head[3], head[4], read(length)
