"""The webhook as a process, and a client for it over TLS."""

import json
import re
import ssl
import subprocess
import sys
import time
import urllib.request
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import jsonpatch
import orjson

from intent import Object
from tests.builders.certificates import development
from tests.builders.patience import PATIENCE
from tests.builders.reviews import review
from tests.builders.wire import JSON, Reply
from webhook.server.listen import Limits

PRODUCTION = Limits()
"""The limits of production with shorter times, for tests of what happens after them."""

PROGRAM = """
import json, resource, socket, sys
from pathlib import Path
from certs.reload import CertificateDirectory
from server import admission, process
from intent.settings import Settings
from ipaddress import ip_network
from webhook.server.callers import Callers
from webhook.server.listen import Limits
from webhook.server.offload import Offload

options = json.loads(sys.argv[1])
if not options["offload"]:
    Offload.takes = lambda _self, _peer, _body: False
if options["files"]:
    resource.setrlimit(resource.RLIMIT_NOFILE, (options["files"], options["files"]))
ca = Path(options["ca"]) if options["ca"] else None
source = CertificateDirectory(Path(options["directory"]), ("localhost",), ca)
sockets = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
callers = Callers(frozenset(options["names"]), tuple(map(ip_network, options["networks"])))
limits = Limits(**options["limits"])
answers = admission.reviews(Settings())
process.run(admission.webhook(sockets, source, answers, limits, callers=callers, poll_seconds=0.1))
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A running webhook."""

    port: int
    metrics_port: int
    tls: ssl.SSLContext
    connection: HTTPSConnection
    process: subprocess.Popen[bytes]
    directory: Path
    """The directory of its certificate and its log."""

    def send(self, body: bytes, path: str = "/mutate", **headers: str) -> Reply:
        """Send a body on one connection, as API servers do.

        If a kept connection ends without an answer, the body is sent again on a new one, as Go's
        `http.Transport` does: the webhook may have closed the connection before, since it was idle.
        """
        named = {"Content-Type": JSON} | {name.replace("_", "-"): value for name, value in headers.items()}
        if self.connection.sock is None:
            return self._send(body, path, named)
        try:
            return self._send(body, path, named)
        except (ConnectionError, ssl.SSLError):
            self.connection.close()
            return self._send(body, path, named)

    def _send(self, body: bytes, path: str, headers: dict[str, str]) -> Reply:
        self.connection.request("POST", path, body, headers)
        answer = self.connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, found, answer.read())

    def response(self, sent: Object, path: str = "/mutate") -> Object:
        """Send a review and return its response, after checking that an API server would accept it."""
        reply = self.send(orjson.dumps(sent), path)
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json"), reply
        answer = orjson.loads(reply.body)
        assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        assert answer["response"]["uid"] == sent["request"]["uid"]
        found: Object = answer["response"]
        return found

    def operations(self, live: Any, old: Any = None) -> list[Object]:
        """Return the patch of /mutate."""
        patch = self.response(review(live, old)).get("patch")
        found: list[Object] = orjson.loads(b64decode(patch)) if patch else []
        return found

    def admit(self, live: Object, old: Object | None = None) -> Object:
        """Send an object to /mutate and apply the patch."""
        found: Object = jsonpatch.apply_patch(live, self.operations(live, old))
        return found

    def validated(self, live: Any, old: Any = None) -> Object:
        """Send an object to /validate."""
        return self.response(review(live, old), "/validate")

    def get(self, path: str) -> str:
        """Return a page of the metrics port."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}{path}", timeout=PATIENCE) as page:
            text: str = page.read().decode()
            return text

    def samples(self) -> dict[str, float]:
        """Return the metrics by series."""
        lines = (line.rpartition(" ") for line in self.get("/metrics").splitlines() if line[:1] != "#")
        return {name: float(value) for name, _, value in lines}

    def log(self) -> list[Object]:
        """Return the log; every line must be JSON."""
        return [json.loads(line) for line in (self.directory / "log").read_text().splitlines()]

    def memory(self, field: str = "VmRSS") -> int:
        """Return the memory in bytes: current (VmRSS) or peak (VmHWM)."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(rf"{field}:\s+(\d+) kB", text)[0]) * 1024

    def is_alive(self) -> bool:
        """Return whether the process runs and /healthz answers."""
        return self.process.poll() is None and self.get("/healthz") == "ok"


@contextmanager
def started(directory: Path, limits: Limits = PRODUCTION, **options: Any) -> Iterator[Server]:
    """Run a webhook until the end of the test.

    `options`: ca, names, networks, files, and whether to `offload` expensive requests.
    """
    bundle = development(directory, ["localhost"])
    arguments = {
        "directory": str(directory),
        "ca": None,
        "names": [],
        "networks": [],
        "files": None,
        "offload": True,
    } | options
    arguments["limits"] = {name: getattr(limits, name) for name in Limits.__slots__}
    command = [sys.executable, "-c", PROGRAM, json.dumps(arguments)]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log)
    try:
        ports = _ports(directory / "log", process)
        tls = ssl.create_default_context(cadata=bundle.decode())
        connection = HTTPSConnection("localhost", ports[0], context=tls, timeout=PATIENCE)
        with closing(connection):
            yield Server(*ports, tls, connection, process, directory)
    finally:
        process.kill()
        process.wait()


def _ports(log: Path, process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Wait until the webhook is ready, and return its ports."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
        events = {line["event"]: line for line in lines}
        if {"listening", "certificate"} <= set(events):
            return events["listening"]["port"], events["listening"]["metrics_port"]
        time.sleep(0.02)
    raise TimeoutError(log.read_text())
