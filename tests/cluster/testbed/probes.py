"""Whether the kubelet would call a pod ready: the probes of its containers, asked as it asks them."""

import socket
import struct
from collections.abc import Callable, Iterator
from typing import Final

from intent import Object
from tests.cluster.testbed.containers import name_of, port_number
from tests.cluster.testbed.network import Network, ask, connect

# --- the health of a gRPC server ----------------------------------------------------------------------
# `grpc.health.v1`, asked in the least HTTP/2 that is a request (RFC 9113), as the kubelet asks. One answer is
# expected, and of it only the message is read.

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


PROBES: Final = ("startupProbe", "readinessProbe")
"""Until a startup probe succeeds a container is not ready either (kubelet `pkg/kubelet/prober`)."""
ATTEMPT: Final = 5.0
"""Seconds for the answer to one attempt. The kubelet allows one by default, and asks again: a server that is
just starting may take a connection and never answer on it."""


def is_ready(there: Network, pod: Object) -> bool:
    """Return whether every probe of a pod that runs succeeds."""
    address = there.addresses[name_of(pod)]
    return all(
        _succeeds(there, address, container, container[probe])
        for container in _containers(pod)
        for probe in PROBES
        if probe in container
    )


def _containers(pod: Object) -> Iterator[Object]:
    """Return the containers that run on: those of the pod, and its sidecars."""
    for container in pod["spec"].get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            yield container
    yield from pod["spec"]["containers"]


def _succeeds(there: Network, address: str, container: Object, probe: Object) -> bool:
    kind = next(kind for kind in _KINDS if kind in probe)
    try:
        return _KINDS[kind](there, address, container, probe[kind])
    except OSError:
        return False


def _grpc(there: Network, address: str, _container: Object, probe: Object) -> bool:
    with connect(there, address, probe["port"], ATTEMPT) as connection:
        return serving(connection, probe.get("service", ""))


def _http(there: Network, address: str, container: Object, probe: Object) -> bool:
    port = port_number(container, probe["port"])
    return ask(there, f"{address}:{port}", probe.get("path", "/"), seconds=ATTEMPT).status < 400


_KINDS: Final[dict[str, Callable[[Network, str, Object, Object], bool]]] = {"grpc": _grpc, "httpGet": _http}
