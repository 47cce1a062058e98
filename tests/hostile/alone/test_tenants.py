"""Two tenants, one hostile: its requests hardly delay those of the other."""

import os
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import orjson
import pytest

from tests.builders.lws import lws
from tests.builders.reviews import review
from tests.builders.wire import JSON
from tests.hostile import worst
from tests.hostile.server import Server, started

REQUESTS: Final = 200
FEW: Final = 8
"""Requests that each take long."""
CONNECTIONS: Final = 4
BOUND: Final = 5
"""The limit of the other tenant's median and p99 under attack, divided by those before."""
TRIES: Final = 3
OTHER: Final = orjson.dumps(review(lws(), namespace="other"))

ATTACK: Final = """
import http.client, os, ssl, sys, threading
os.nice(19)  # a real client would not use this machine's CPU
port, ca, path, files = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
bodies = [open(file, "rb").read() for file in files]
tls = ssl.create_default_context(cafile=ca)
def send():
    answered = 0
    while True:
        try:
            connection = http.client.HTTPSConnection("localhost", port, context=tls, timeout=20)
            while True:
                for body in bodies:
                    for where in ("/mutate", "/validate"):
                        connection.request("POST", where, body, {"Content-Type": "application/json"})
                        connection.getresponse().read()
                        if answered < 1:
                            print("answered", flush=True)
                        answered = 1
        except OSError:
            pass
for _ in range(int(path)):
    threading.Thread(target=send, daemon=True).start()
sys.stdin.read()
"""
"""A client that sends bodies repeatedly, on several connections, until its standard input ends."""


BUSY: Final = "import os; os.nice(19); print(flush=True)\nwhile os.getppid() > 1: pass"


@contextmanager
def busy() -> Iterator[None]:
    """Keep every processor busy with processes of low priority until the context ends."""
    command = [sys.executable, "-c", BUSY]
    with ExitStack() as running:
        for _ in range(os.cpu_count() or 1):
            one = running.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            running.callback(one.kill)
            assert one.stdout is not None
            one.stdout.readline()
        yield


@contextmanager
def attacked(server: Server, directory: Path, *bodies: bytes) -> Iterator[None]:
    """Send bodies to a server until the context ends; enter it once every connection was answered."""
    files = []
    for at, body in enumerate(bodies):
        (directory / f"body-{at}").write_bytes(body)
        files.append(str(directory / f"body-{at}"))
    (directory / "ca.pem").write_text(
        "".join(ssl.DER_cert_to_PEM_cert(one) for one in server.tls.get_ca_certs(binary_form=True))
    )
    command = [sys.executable, "-c", ATTACK, str(server.port), str(directory / "ca.pem")]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, str(CONNECTIONS), *files], stdin=pipe, stdout=pipe) as client:
        try:
            assert client.stdout is not None
            for _ in range(CONNECTIONS):
                client.stdout.readline()
            yield
        finally:
            client.kill()


def waits(server: Server, requests: int = REQUESTS) -> tuple[float, float]:
    """Return the median and the p99 of the other tenant's requests, in seconds."""
    connection = HTTPSConnection("localhost", server.port, context=server.tls, timeout=20)
    found = []
    for _ in range(requests):
        since = time.perf_counter()
        connection.request("POST", "/mutate", OTHER, {"Content-Type": JSON})
        answer = connection.getresponse()
        assert (answer.status, b"patchType" in answer.read()) == (200, True)
        found.append(time.perf_counter() - since)
        time.sleep(0.002)
    connection.close()
    return middle_and_p99(found)


def undisturbed(server: Server, requests: int = REQUESTS) -> tuple[float, float]:
    """Return the same without an attack, beside processes that take the processors as its clients do.

    A p99 has the pauses of the machine's scheduler: they are in what is compared too.
    """
    with busy():
        return waits(server, requests)


def middle_and_p99(found: list[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile."""
    return median(found), quantiles(found, n=100)[98]


def longer(before: tuple[float, float], beside: tuple[float, float]) -> float:
    """Return how many times as long a wait is: by the median too, since one pause of the machine is a p99."""
    return max(after / since for since, after in zip(before, beside, strict=True))


def hostile(body: bytes) -> bytes:
    """Return a request of the hostile tenant's namespace."""
    return body.replace(b'"namespace":"llm"', b'"namespace":"hostile"')


TABLE: Final = frozenset(list(worst.REVIEWED)[: worst.ROWS])
GROUPS: Final[dict[str, Callable[[str, int], bool]]] = {
    "the table, up to 64 KB": lambda name, size: name in TABLE and size <= 65_536,
    "the table, over 64 KB": lambda name, size: name in TABLE and size > 65_536,
    "others, up to 64 KB": lambda name, size: name not in TABLE and size <= 65_536,
    "others, over 64 KB": lambda name, size: name not in TABLE and 65_536 < size <= 2**20,
    "others, over 1 MB": lambda name, size: name not in TABLE and size > 2**20,
}
"""Inputs of `worst.REVIEWED`, selected by name and size."""


@pytest.mark.parametrize("group", GROUPS)
def test_the_other_tenant_is_hardly_delayed(server: Server, tmp_path: Path, group: str) -> None:
    sent = [
        hostile(body)
        for name, body in worst.bodies().items()
        if GROUPS[group](name.removesuffix(", again"), len(body))
    ]
    assert sent

    ratios = []
    for _ in range(TRIES):
        quiet = undisturbed(server)
        with attacked(server, tmp_path, *sent):
            ratios.append(longer(quiet, waits(server)))
        if ratios[-1] < BOUND:
            break

    assert min(ratios) < BOUND
    assert server.is_alive()


def test_without_the_second_process_the_other_tenant_is_delayed(tmp_path: Path) -> None:
    sent = hostile(worst.bodies()["100 containers with scripts"])
    (tmp_path / "server").mkdir()

    ratios = []
    with started(tmp_path / "server", offload=False) as server:
        for _ in range(TRIES):
            quiet = undisturbed(server, FEW)
            with attacked(server, tmp_path, sent):
                ratios.append(longer(quiet, waits(server, FEW)))
            if ratios[-1] > BOUND:
                break

    assert max(ratios) > BOUND
