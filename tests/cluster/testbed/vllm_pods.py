"""The pods of one group of vLLM, run as processes: what downloads the model, then the engines.

The containers run with the commands that are stored, and stand-ins take the place of the programs of their
images: the storage initializer, then vLLM. What waits for the leader's name is left out: the testbed has no
DNS (`tests/ray` has one).
"""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Final

from intent import Object
from intent.model import INITIALIZER
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.containers import name_of, report, run_container
from tests.cluster.testbed.images import Program
from tests.cluster.testbed.leaders import with_leader
from tests.cluster.testbed.network import Network, add_pod, listens
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.probes import is_ready
from tests.cluster.testbed.processes import tail
from tests.cluster.testbed.wait import until
from tests.patience import PATIENCE

PORT: Final = 8000
DOWNLOADS: Final = Program(
    (sys.executable, "-m", "tests.cluster.testbed.initializer"), {"PYTHONPATH": str(ROOT)}
)


def run_group(there: Network, namespace: str, names: tuple[str, ...], folder: Path) -> None:
    """Run the containers of the pods of a namespace, the leader first, and write the status of the pods.

    `folder` gets the programs that the image of the engine has.
    """

    def stored() -> list[Object]:
        return sorted(items(there.cluster.api, path("pods", namespace)), key=name_of)

    until(
        lambda: [one["metadata"]["name"] for one in stored()] == [*names], f"{names[0]} and its workers exist"
    )
    until(lambda: {one["status"]["phase"] for one in stored()} == {"Running"}, "kwok has made all pods run")
    pods = stored()
    addresses = [add_pod(there, name_of(pod)) for pod in pods]
    image = _image(folder)
    for pod in pods:
        _run_pod(there, pod, addresses[0], image)
    until(partial(listens, there, addresses[0], PORT), "the engine of the leader serves")
    for pod, address in zip(pods, addresses, strict=True):
        report(there.cluster, pod, address, ready=is_ready(there, pod))


def _image(folder: Path) -> Program:
    """Write the programs of the image of the engine, and return how a container of it runs."""
    engine = folder / "vllm"
    engine.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.cluster.testbed.vllm_group "$@"\n')
    engine.chmod(0o755)
    return Program((), {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)})


def _run_pod(there: Network, pod: Object, leader: str, image: Program) -> None:
    """Run what downloads the model of a pod, then its engine."""
    (download,) = [one for one in pod["spec"]["initContainers"] if one["name"] == INITIALIZER]
    process = run_container(there, pod, download, own=DOWNLOADS)
    assert process.popen.wait(PATIENCE) == 0, tail(process)
    (engine,) = pod["spec"]["containers"]
    run_container(there, pod, with_leader(engine, leader), {"HOSTNAME": pod["metadata"]["name"]}, image)
