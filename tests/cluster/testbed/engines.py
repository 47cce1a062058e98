"""Pods of engines: a stand-in at the engine's port, real sidecars as injected, and the status they have."""

import json
import os
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from intent import Object
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.containers import name_of, report, run_container
from tests.cluster.testbed.images import Program
from tests.cluster.testbed.network import Network, add_pod, ask, file_of, listens, start_container
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.probes import is_ready
from tests.cluster.testbed.wait import until

PORT: Final = 8000
"""Where vLLM listens unless it is told otherwise."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A stand-in that runs: the name it says, its pod, its address and port, the file of its requests."""

    name: str
    pod: Object
    address: str
    port: int
    log: Path


def run_pods(
    there: Network, namespace: str, *names: str, real: Program | None = None, seconds: float = PATIENCE
) -> list[Engine]:
    """Run pods that are stored, until they would be ready, and say so in their status.

    A stand-in takes the place of their engines, unless their image has a real one.
    """
    engines = [_start(there, _settled(there.cluster, namespace, name), real) for name in names]
    for engine in engines:
        until(partial(_is_up, there, engine), f"{engine.name} is ready", seconds=seconds)
        look(there, engine)
    return engines


def look(there: Network, engine: Engine) -> None:
    """Write the condition Ready of a pod, as the kubelet does."""
    report(there.cluster, engine.pod, engine.address, ready=is_ready(there, engine.pod))


def engine_port(container: Object) -> int:
    """Return the port that an engine's words ask for."""
    words = [*container.get("command", ()), *container.get("args", ())]
    pairs = [word.partition("=")[::2] for word in words] + list(pairwise(words))
    return next((int(value) for flag, value in pairs if flag == "--port" and value), PORT)


def set_engine(there: Network, engine: Engine, **state: Any) -> None:
    """Change what an engine's metrics say, or how it answers."""
    ask(there, f"{engine.address}:{engine.port}", "/set", state)


def wait_seen(there: Network, *engines: Engine) -> None:
    """Wait until a picker has read the metrics of engines that were changed."""
    before = {engine.address: (engine, _reads(there, engine)) for engine in engines}

    def seen() -> bool:
        return all(_reads(there, engine) > count + 1 for engine, count in before.values())

    until(seen, f"the metrics of {', '.join(engine.name for engine in engines)} are read")


def received(engine: Engine) -> list[Object]:
    """Return the requests that an engine has got, oldest first."""
    return [json.loads(line) for line in engine.log.read_text().splitlines()] if engine.log.exists() else []


def _start(there: Network, pod: Object, real: Program | None) -> Engine:
    """Start the sidecars of a pod, and its engine or a stand-in."""
    name, address = pod["metadata"]["name"], add_pod(there, name_of(pod))
    port = engine_port(pod["spec"]["containers"][0])
    engine = Engine(name, pod, address, port, file_of(there, name_of(pod), "jsonl"))
    for container in pod["spec"].get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            run_container(there, pod, container)
    if real:
        run_container(there, pod, pod["spec"]["containers"][0], own=real)
        return engine
    words = ("-m", "tests.cluster.testbed.engine", name, str(port), str(engine.log))
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    start_container(there, name_of(pod), "engine", (sys.executable, *words), variables)
    return engine


def _is_up(there: Network, engine: Engine) -> bool:
    return is_ready(there, engine.pod) and listens(there, engine.address, engine.port)


def _reads(there: Network, engine: Engine) -> int:
    return int(ask(there, f"{engine.address}:{engine.port}", "/reads").body["reads"])


def _settled(cluster: Cluster, namespace: str, name: str) -> Object:
    """Return a pod once it is there and, if kwok makes it run, once it runs: kwok writes that only once."""
    nodes = {node["metadata"]["name"] for node in items(cluster.api, path("nodes"))}

    def taken() -> list[Object]:
        found = items(cluster.api, path("pods", namespace), fieldSelector=f"metadata.name={name}")
        return [pod for pod in found if not _is_awaited(pod, nodes) or _runs(pod)]

    return until(taken, f"{name} runs")[0]


def _is_awaited(pod: Object, nodes: Collection[str]) -> bool:
    """Return whether kwok makes a pod run: it is on a node that exists, or Volcano binds it to one."""
    node = pod["spec"].get("nodeName")
    return node in nodes if node else bool(nodes) and pod["spec"].get("schedulerName") == "volcano"


def _runs(pod: Object) -> bool:
    return bool(pod["status"]["phase"] == "Running")
