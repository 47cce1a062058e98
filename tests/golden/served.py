"""The webhook as a process on TLS, and reviews that an API server would send it."""

import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from intent import Object
from tests.builders.certificates import development

READY_SECONDS: Final = 60.0
"""The time within which the webhook must become ready."""
REVIEW_SECONDS: Final = 30
"""How long an answer may take on a busy machine; usually it takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A running webhook: its URL, and an SSL context that trusts it."""

    url: str
    trust: ssl.SSLContext


@contextmanager
def started_webhook() -> Iterator[Webhook]:
    """Run the webhook on a free local port, with a certificate issued for it."""
    with tempfile.TemporaryDirectory(prefix="fusioninfer-demo-") as directory:
        bundle = development(Path(directory), ["127.0.0.1", "localhost"])
        port, metrics_port = _free_port(), _free_port()
        command = [
            sys.executable,
            "-m",
            "fusioninfer",
            "webhook",
            "--cert-dir",
            directory,
            "--host",
            "127.0.0.1",
        ]
        ports = ["--port", str(port), "--metrics-port", str(metrics_port)]
        process = subprocess.Popen([*command, *ports], stderr=subprocess.DEVNULL)
        try:
            _wait(f"http://127.0.0.1:{metrics_port}/readyz", process)
            trust = ssl.create_default_context(cadata=bundle.decode())
            yield Webhook(f"https://127.0.0.1:{port}", trust)
        finally:
            process.send_signal(signal.SIGINT)
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait a moment for the webhook to drain, then kill it."""
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):  # noqa: S310 - our own address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    if process.returncode is not None:
        raise OSError(f"the webhook ended with exit code {process.returncode}")
    raise TimeoutError(f"the webhook did not become ready in {READY_SECONDS:.0f} s")


def post(webhook: Webhook, path: str, live: Object) -> dict[str, Any]:
    """POST an AdmissionReview of a CREATE, and return its response."""
    request = {"uid": "demo", "operation": "CREATE", "object": live}
    body = orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    url = f"{webhook.url}{path}?timeout={REVIEW_SECONDS}s"
    call = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - our own
    with urllib.request.urlopen(call, timeout=REVIEW_SECONDS, context=webhook.trust) as response:  # noqa: S310
        answered: dict[str, Any] = orjson.loads(response.read())["response"]
        return answered
