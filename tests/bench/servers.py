"""Servers as processes of their own, each on free ports of loopback with a certificate made for it."""

import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from certs import issue

OURS: Final = (
    *("fusioninfer", "webhook", "--host=127.0.0.1", "--port=0", "--metrics-port=0"),
    *("--caller-cidr=127.0.0.0/8", "--cert-dir"),
)
NOTHING: Final = ("tests.bench.nothing",)
PATIENCE: Final = 60.0
"""Seconds until it must be ready."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is ready."""

    pid: int
    port: int
    trust: ssl.SSLContext


@contextmanager
def started(words: tuple[str, ...]) -> Iterator[Server]:
    """Run a module with these words and the directory of its certificate; end it afterwards."""
    with TemporaryDirectory(prefix="fusioninfer-bench-") as name:
        directory = Path(name)
        bundle = issue.development(directory, ["localhost"])
        log = directory / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen([sys.executable, "-m", *words, name], stderr=stream)
        try:
            port = _port(log, process)
            yield Server(process.pid, port, ssl.create_default_context(cadata=bundle.decode()))
        finally:
            process.kill()
            process.wait()


def _port(log: Path, process: subprocess.Popen[bytes]) -> int:
    """Wait until it listens and has its certificate; give the port of the reviews."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
        told = {line["event"]: line for line in lines}
        if {"listening", "certificate"} <= told.keys():
            port: int = told["listening"]["port"]
            return port
        time.sleep(0.02)
    raise TimeoutError(log.read_text())
