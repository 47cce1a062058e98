"""HTTP as bytes over a real socket, with or without TLS, for requests that no HTTP library would send."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from tests.builders.patience import PATIENCE

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """A response, with header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """Return a request. Underscores in header names become dashes, and an empty header is left out."""
    lines = {"Host": "x", "Content_Type": JSON, "Content_Length": str(len(body)), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items() if value)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def post(path: str, body: bytes = b"{}", **headers: str) -> bytes:
    """Return a POST request with a JSON body."""
    return request("POST", path, body, **headers)


@asynccontextmanager
async def connected(
    port: int, tls: ssl.SSLContext | None = None, source: str = "127.0.0.1"
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect from an address of loopback, and close the connection in every case."""
    name, local = "localhost" if tls else None, (source, 0)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=tls, server_hostname=name, local_addr=local
    )
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(writer.wait_closed(), 5)


async def read(reader: asyncio.StreamReader) -> Reply:
    """Read one response.

    Raises:
        IncompleteReadError: the connection ended before it.
    """
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)).decode()
    status, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Reply(int(status.split(" ")[1]), headers, body)


async def exchange(port: int, sent: bytes, tls: ssl.SSLContext | None = None) -> Reply:
    """Send bytes on a new connection, and read one response."""
    async with connected(port, tls) as (reader, writer):
        writer.write(sent)
        return await read(reader)


async def ask(port: int, tls: ssl.SSLContext, body: bytes, path: str = "/mutate", **headers: str) -> Reply:
    """Post a body on a new connection, and read the response."""
    return await exchange(port, post(path, body, **headers), tls)


async def get(port: int, path: str) -> Reply:
    """Get a path of the plain-text port."""
    return await exchange(port, request("GET", path, Content_Type="", Content_Length=""))


async def ended(reader: asyncio.StreamReader, seconds: float = PATIENCE) -> bool:
    """Return whether the peer closes the connection in time, without another response."""
    try:
        return await asyncio.wait_for(reader.read(1), seconds) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False
