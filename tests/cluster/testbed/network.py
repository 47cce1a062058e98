"""A network of pods beside the cluster, with the API server on it: addresses of their own, ports as written.

A pod is a process that sleeps in a network of its own; its containers are processes beside it.
"""

import http.client
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests import netns
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.processes import Process, kill, spawn, tail
from tests.cluster.testbed.relay import relay
from tests.cluster.testbed.wait import until

SLEEP: Final = ("sh", "-c", "echo ready; exec sleep infinity")
FIRST: Final = 10
"""The last number of the first pod's address."""


@dataclass(frozen=True, slots=True)
class Network:
    """A switch, the API server's address there, and the processes by name: pods, and `POD/CONTAINER`."""

    cluster: Cluster
    switch: Process
    api: str
    processes: dict[str, Process] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    """Every pod's address; none is given twice."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered; the body is JSON, or text."""

    status: int
    headers: Mapping[str, str]
    body: Any


@contextmanager
def network(cluster: Cluster) -> Iterator[Network]:
    """Run a network until left; then every process on it is ended, and so the network."""
    process = spawn("switch", netns.switch(*SLEEP), cluster.directory / "switch.log")
    there = None
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


def add_pod(there: Network, name: str) -> str:
    """Add a pod that runs nothing yet; return its address."""
    address = f"10.99.0.{FIRST + len(there.addresses)}"
    there.addresses[name] = address
    command = netns.pod(address, there.switch.pid, *SLEEP)
    process = there.processes[name] = spawn(name, command, there.cluster.directory / f"pod-{name}.log")
    until(lambda: "ready" in tail(process), f"pod {name} has its network")
    return address


def start_container(
    there: Network, pod: str, name: str, command: Sequence[str], env: Mapping[str, str] | None = None
) -> Process:
    """Start a process in the network of a pod."""
    words = netns.beside(there.processes[pod].pid, *command)
    log = there.cluster.directory / f"pod-{pod}-{name}.log"
    process = there.processes[f"{pod}/{name}"] = spawn(f"{pod}/{name}", words, log, env)
    return process


def remove_pod(there: Network, name: str) -> None:
    """End a pod and its containers."""
    for each in [each for each in there.processes if each == name or each.startswith(f"{name}/")]:
        kill(there.processes.pop(each))


def listens(there: Network, address: str, port: int) -> bool:
    """Whether a port takes connections."""
    try:
        connect(there, address, port).close()
    except OSError:
        return False
    return True


def connect(there: Network, address: str, port: int) -> socket.socket:
    """Connect to a port from within the network."""
    return netns.made_in(there.switch.pid, lambda: socket.create_connection((address, port), timeout=15))


def ask(
    there: Network, server: str, where: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Send a request to `ADDRESS:PORT`: a POST of JSON if there is a body, else a GET."""
    address, _, port = server.rpartition(":")
    connection = http.client.HTTPConnection(address, int(port), timeout=15)
    connection.sock = connect(there, address, int(port))
    try:
        connection.request(
            "GET" if body is None else "POST",
            where,
            None if body is None else json.dumps(body),
            {"Content-Type": "application/json", **(headers or {})},
        )
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, _parsed(response.read()))
    finally:
        connection.close()


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
