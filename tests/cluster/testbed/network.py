"""A network of pods beside the cluster, with the API server on it: addresses of their own, ports as written.

A pod is a process that sleeps in a network of its own; its containers are processes beside it.
"""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.builders import netns
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.processes import Process, kill, spawn, tail
from tests.cluster.testbed.relay import relay
from tests.cluster.testbed.wait import until

SLEEP: Final = ("sh", "-c", "echo ready; exec sleep infinity")


@dataclass(frozen=True, slots=True)
class Network:
    """A switch, the API server's address there, and its pods, which are called `NAMESPACE/NAME`.

    Processes are those of pods, and of containers by `POD/CONTAINER`. No address is given twice.
    """

    cluster: Cluster
    switch: Process
    api: str
    processes: dict[str, Process] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered; the body is JSON, or text."""

    status: int
    body: Any


@contextmanager
def network(cluster: Cluster) -> Iterator[Network]:
    """Run a network until left; then every process on it is ended, and so the network."""
    log = cluster.directory / "switch.log"
    log.unlink(missing_ok=True)  # of one before it, which said "ready" too
    process = spawn("switch", netns.switch(*SLEEP), log)
    try:
        until(lambda: "ready" in tail(process), "the switch is there")
        listener = netns.made_in(process.pid, lambda: socket.create_server((netns.ROUTER, 0)))
        with relay(cluster.ports["kube-apiserver"], listener) as line:
            there = Network(cluster, process, f"https://{netns.ROUTER}:{line.port}")
            try:
                yield there
            finally:
                for each in reversed(there.processes.values()):
                    kill(each)
    finally:
        kill(process)


def add_pod(there: Network, pod: str) -> str:
    """Add a pod that runs nothing yet; return its address."""
    address = there.addresses[pod] = _next_address(there)
    command, log = netns.pod(address, there.switch.pid, *SLEEP), file_of(there, pod, "log")
    log.unlink(missing_ok=True)  # of one before it, which said "ready" too
    process = there.processes[pod] = spawn(pod, command, log)
    until(lambda: "ready" in tail(process), f"pod {pod} has its network")
    return address


def start_container(
    there: Network, pod: str, name: str, command: Sequence[str], env: Mapping[str, str] | None = None
) -> Process:
    """Start a process in the network of a pod."""
    words = netns.beside(there.processes[pod].pid, *command)
    container = f"{pod}/{name}"
    process = spawn(container, words, file_of(there, container, "log"), env)
    there.processes[container] = process
    return process


def remove_pods(there: Network, name: str) -> None:
    """End a pod, or all pods of a namespace, and their containers."""
    for each in [each for each in there.processes if f"{each}/".startswith(f"{name}/")]:
        kill(there.processes.pop(each))


def file_of(there: Network, name: str, ending: str) -> Path:
    """Return the path of a file of a pod or container."""
    return there.cluster.directory / f"pod-{name.replace('/', '-')}.{ending}"


def listens(there: Network, address: str, port: int) -> bool:
    """Return whether a port takes connections."""
    try:
        connect(there, address, port).close()
    except OSError:
        return False
    return True


def connect(there: Network, address: str, port: int, seconds: float = PATIENCE) -> socket.socket:
    """Connect to a port from within the network; each wait on the socket has a limit."""
    return netns.made_in(there.switch.pid, lambda: socket.create_connection((address, port), timeout=seconds))


def ask(
    there: Network,
    server: str,
    where: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    *,
    seconds: float = PATIENCE,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """Send a request to `ADDRESS:PORT`: a POST of JSON if there is a body, else a GET."""
    address, _, port = server.rpartition(":")
    connection = http.client.HTTPConnection(address, int(port), timeout=seconds)
    connected = connect(there, address, int(port), seconds)
    connection.sock = tls.wrap_socket(connected) if tls else connected
    try:
        connection.request(
            "GET" if body is None else "POST",
            where,
            None if body is None else json.dumps(body),
            {"Content-Type": "application/json", **(headers or {})},
        )
        response = connection.getresponse()
        return Answer(response.status, _parsed(response.read()))
    finally:
        connection.close()


def _next_address(there: Network) -> str:
    third, fourth = divmod(next(there.numbers), 250)
    return f"10.99.{1 + third}.{1 + fourth}"


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
