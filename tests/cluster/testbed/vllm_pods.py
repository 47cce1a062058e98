"""Pods whose engine is the stand-in for vLLM, as processes with the commands that are stored.

What waits for the leader's name is left out: the testbed has no DNS (`tests/ray` has one).
"""

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from intent import Object
from intent.model import INITIALIZER
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.containers import name_of, report, run_container
from tests.cluster.testbed.images import Program
from tests.cluster.testbed.leaders import with_leader
from tests.cluster.testbed.network import Network, add_pod, listens
from tests.cluster.testbed.nodes import bind
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.probes import is_ready
from tests.cluster.testbed.processes import tail
from tests.cluster.testbed.wait import until

DOWNLOADS: Final = Program(
    (sys.executable, "-m", "tests.cluster.testbed.initializer"), {"PYTHONPATH": str(ROOT)}
)


def add_programs(folder: Path, stand_in: str = "vllm_group") -> Path:
    """Put the programs into a folder that the image of the engine has, and return the folder."""
    engine = folder / "vllm"
    engine.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.cluster.testbed.{stand_in} "$@"\n')
    engine.chmod(0o755)
    return folder


def run_group(there: Network, namespace: str, names: Sequence[str], programs: Path | None = None) -> None:
    """Run the containers of a group, the leader first, and write the status of its pods.

    Without `programs` their images are those of the testbed.
    """

    def stored() -> list[Object]:
        return sorted(items(there.cluster.api, path("pods", namespace)), key=name_of)

    until(lambda: [one["metadata"]["name"] for one in stored()] == [*names], f"{names[0]} has its pods")
    node, *_ = items(there.cluster.api, path("nodes"))
    for one in stored():
        if one["spec"]["schedulerName"] == "default-scheduler":  # the testbed has that of gangs alone
            bind(there.cluster, namespace, one["metadata"]["name"], node["metadata"]["name"])
    until(lambda: {one["status"]["phase"] for one in stored()} == {"Running"}, "kwok has made all pods run")
    pods = stored()
    addresses = [add_pod(there, name_of(pod)) for pod in pods]
    for pod in pods:
        _run_pod(there, pod, addresses[0], programs)
    until(partial(listens, there, addresses[0], 8000), "the engine of the leader serves")
    until(partial(is_ready, there, pods[0]), "the leader is ready")
    for pod, address in zip(pods, addresses, strict=True):
        report(there.cluster, pod, address, ready=is_ready(there, pod))


def _run_pod(there: Network, pod: Object, leader: str, programs: Path | None) -> None:
    """Run what downloads the model of a pod, if it has that, then its engine."""
    for one in pod["spec"].get("initContainers", ()):
        if one["name"] == INITIALIZER:
            process = run_container(there, pod, one, own=DOWNLOADS)
            assert process.popen.wait(PATIENCE) == 0, tail(process)
    run_engine(there, pod, leader, programs)


def run_engine(there: Network, pod: Object, leader: str, programs: Path | None) -> None:
    """Run the engine of a pod, whose image has the programs, if it is given some."""
    (engine,) = pod["spec"]["containers"]
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    image = Program((), variables) if programs else None
    run_container(there, pod, with_leader(engine, leader), {"HOSTNAME": pod["metadata"]["name"]}, image)
