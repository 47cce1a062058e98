"""A name server like the cluster's: `python -m tests.ray.dns FILE` answers from a file, read for each query.

The file is a JSON object of names and addresses. Names that it does not hold are not there (NXDOMAIN), and
those that it holds have no other records. Messages are those of RFC 1035, section 4, and of RFC 3596.
"""

import json
import socket
import struct
import sys
from pathlib import Path
from typing import Final

A: Final = 1
AAAA: Final = 28
IN: Final = 1
NO_ERROR: Final = 0
NAME_ERROR: Final = 3
ANSWER: Final = 0x8580
"""A response, authoritative, recursion desired and available."""
TTL: Final = 5


def answer(query: bytes, records: dict[str, str]) -> bytes:
    """Return the response to a query of one question."""
    (number,) = struct.unpack_from("!H", query)
    name, end = _name(query)
    question = query[12 : end + 4]
    (kind,) = struct.unpack_from("!H", query, end)
    address = records.get(name)
    found = [_record(address)] if address and kind == _kind(address) else []
    code = NO_ERROR if address else NAME_ERROR
    return struct.pack("!6H", number, ANSWER | code, 1, len(found), 0, 0) + question + b"".join(found)


def _name(query: bytes) -> tuple[str, int]:
    """Read the question's name, and say where it ends."""
    labels, at = [], 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode().lower())
        at += 1 + length
    return ".".join(labels), at + 1


def _kind(address: str) -> int:
    return AAAA if ":" in address else A


def _record(address: str) -> bytes:
    """Point back to the question's name, at byte 12."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    return struct.pack("!3HIH", 0xC00C, _kind(address), IN, TTL, len(packed)) + packed


def serve(records: Path) -> None:
    """Answer for ever, one query after the other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("", 53))
        print("ready", flush=True)  # noqa: T201 - the word that is waited for
        while True:
            query, client = server.recvfrom(512)
            server.sendto(answer(query, json.loads(records.read_bytes())), client)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
