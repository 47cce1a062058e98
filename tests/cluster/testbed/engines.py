"""Pods of engines: a stand-in at the engine's port, real sidecars as injected, and the status they have."""

import json
import os
import sys
from itertools import pairwise
from typing import Any, Final

from intent import Object
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.containers import report, run_container
from tests.cluster.testbed.network import Network, add_pod, ask, listens, start_container
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.wait import until

PORT: Final = 8000
"""Where vLLM listens unless it is told otherwise."""


def run_pod(there: Network, namespace: str, name: str) -> str:
    """Run a pod that is stored, until it would be ready; say so in its status; return its address."""
    pod = _settled(there.cluster, namespace, name)
    address = add_pod(there, name)
    for container in pod["spec"].get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            run_container(there, pod, container)
    port = engine_port(pod["spec"]["containers"][0])
    log = there.cluster.directory / f"{name}.jsonl"
    command = (sys.executable, "-m", "tests.cluster.testbed.engine", name, str(port), str(log))
    start_container(there, name, "engine", command, {**os.environ, "PYTHONPATH": str(ROOT)})
    until(lambda: listens(there, address, port) and listens(there, address, PORT), f"{name} listens")
    report(there.cluster, namespace, name, address)
    return address


def engine_port(container: Object) -> int:
    """Return the port that an engine's words ask for."""
    words = [*container.get("command", ()), *container.get("args", ())]
    pairs = [word.partition("=")[::2] for word in words] + list(pairwise(words))
    return next((int(value) for flag, value in pairs if flag == "--port" and value), PORT)


def set_engine(there: Network, name: str, **state: Any) -> None:
    """Change what an engine's metrics say, or how it answers."""
    port = _engine_port_of(there, name)
    ask(there, f"{there.addresses[name]}:{port}", "/set", state)


def wait_seen(there: Network, *names: str) -> None:
    """Wait until a picker has read the metrics of engines that were changed."""
    before = {name: _reads(there, name) for name in names}

    def seen() -> bool:
        return all(_reads(there, name) > count + 1 for name, count in before.items())

    until(seen, f"the metrics of {', '.join(names)} are read")


def received(there: Network, name: str) -> list[Object]:
    """Return the requests that an engine has got, oldest first."""
    log = there.cluster.directory / f"{name}.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _engine_port_of(there: Network, name: str) -> int:
    *_, port, _log = there.processes[f"{name}/engine"].popen.args  # type: ignore[misc]
    return int(str(port))


def _reads(there: Network, name: str) -> int:
    answer = ask(there, f"{there.addresses[name]}:{_engine_port_of(there, name)}", "/reads")
    return int(answer.body["reads"])


def _settled(cluster: Cluster, namespace: str, name: str) -> Object:
    """Return a pod once kwok, if its node is there, has made it run: it does so only once."""
    nodes = {node["metadata"]["name"] for node in items(cluster.api, path("nodes"))}

    def taken() -> Object | None:
        pod = get(cluster.api, path("pods", namespace, name))
        managed = pod["spec"].get("nodeName") in nodes
        return None if managed and pod.get("status", {}).get("phase") != "Running" else pod

    return until(taken, f"{name} runs") or {}
