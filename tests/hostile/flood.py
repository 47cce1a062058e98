"""Floods from addresses of loopback, and how long another caller waits beside one.

A flood is a process of low priority that ends with its standard input, and after a minute by itself. It has
at most four times `CONNECTIONS` connections, and connects to 127.0.0.1 only.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final, Literal

CONNECTIONS: Final = 100
SECONDS: Final = 60.0
Kind = Literal["reviews", "bytes", "connections", "handshakes", "/metrics", "/readyz"]
PROGRAM: Final = """
import asyncio, itertools, json, os, ssl, sys
os.nice(19)  # real callers would not use this machine's processors
os.setsid()  # where the system shares them by session too, this one gets little
if os.path.exists("/proc/self/autogroup"):
    with open("/proc/self/autogroup", "w") as shared:
        shared.write("19")
flood = json.loads(sys.argv[1])
kind, tls = flood["kind"], None
if kind[0] != "/" and kind != "connections":
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    if flood["certificate"]:
        tls.load_cert_chain(flood["certificate"])
PIPELINED = 8  # so that few bytes and little work of a caller keep the server busy
numbers, done = itertools.count(), [0, 0]
HEAD = "POST /mutate?timeout=30s HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\n"
files = [open(file, "rb").read() for file in flood["files"]]

def requests():
    if kind[0] == "/":
        return [f"GET {kind} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n".encode()]
    if kind == "bytes":
        return files
    name = "ns-%d" % (next(numbers) % flood["namespaces"]) if flood["namespaces"] else "other"
    bodies = [file.replace(b'"namespace":"other"', b'"namespace":"%b"' % name.encode()) for file in files]
    return [f"{HEAD}Content-Length: {len(body)}\\r\\n\\r\\n".encode() + body for body in bodies]

async def caller(source):
    while True:
        writer = None
        try:
            async with asyncio.timeout(20):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", flood["port"], ssl=tls, local_addr=(source, 0)
                )
            while kind not in ("connections", "handshakes"):
                several = [one for _ in range(PIPELINED if kind == "reviews" else 1) for one in requests()]
                writer.write(b"".join(several))
                for _ in several:
                    async with asyncio.timeout(20):
                        head = await reader.readuntil(b"\\r\\n\\r\\n")
                        length = int(head.lower().partition(b"content-length:")[2].split()[0])
                        await reader.readexactly(length)
                    done[head.split()[1] != b"200"] += 1
            done[0] += 1
        except (OSError, asyncio.IncompleteReadError):
            done[1] += 1
            await asyncio.sleep(0.001)
        finally:
            if writer:
                writer.transport.abort()

async def main():
    loop = asyncio.get_running_loop()
    tasks = [asyncio.create_task(caller(source)) for source in flood["sources"] for _ in range(flood["each"])]
    while sum(done) < len(tasks):
        await asyncio.sleep(0.01)
    print("begun", flush=True)
    done[:] = 0, 0
    ended = loop.run_in_executor(None, sys.stdin.read)
    await asyncio.wait([asyncio.ensure_future(ended)], timeout=flood["seconds"])
    print(json.dumps(done), flush=True)
    os._exit(0)
asyncio.run(main())
"""


@dataclass(frozen=True, slots=True)
class Flood:
    """Callers that repeat one thing on every connection."""

    kind: Kind
    port: int
    sources: tuple[str, ...]
    each: int
    """Connections of one address."""
    files: tuple[str, ...] = ()
    """Reviews of the namespace `other`, sent in turn, or the bytes of a connection."""
    namespaces: int = 0
    """How many namespaces they name, all files one and then the next; 0: the one in the files."""
    certificate: str = ""
    """The file of a client certificate and its key."""
    seconds: float = SECONDS


def addresses(number: int) -> tuple[str, ...]:
    """Return addresses of loopback that are not 127.0.0.1."""
    return tuple(f"127.0.1.{at + 1}" for at in range(number))


@contextmanager
def flooded(flood: Flood) -> Iterator[list[int]]:
    """Flood a server in the context; then the list has the numbers of what was answered, and was not."""
    assert len(flood.sources) * flood.each <= 4 * CONNECTIONS
    found: list[int] = []
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", PROGRAM, json.dumps(asdict(flood))]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as client:
        try:
            assert client.stdin is not None
            assert client.stdout is not None
            assert client.stdout.readline() == "begun\n"
            yield found
            client.stdin.close()
            found += json.loads(client.stdout.readline())
        finally:
            client.kill()
