"""The capacity table of the documents, on the real components: `python -m tests.cluster.demo`.

It applies the two files of Story 4 as a person would, adds nodes step by step, and counts bound pods.
Exit codes: 0 every row is as the documents say, 1 one is not, 2 it could not run, 130 interrupted.
"""

import shlex
import signal
import sys
import time
from contextlib import ExitStack
from types import FrameType
from typing import Final

from rich.console import Console

from tests.cluster.capacity import DISAGGREGATED, Counted, expected, short
from tests.cluster.testbed.api import ApiError, items, path
from tests.cluster.testbed.build import BuildFailedError, Built, build
from tests.cluster.testbed.cluster import Cluster, KubectlError, kubectl
from tests.cluster.testbed.control_plane import ComponentDiedError, running
from tests.cluster.testbed.groups import settled, wait_pods
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.cluster.testbed.ours import ROOT, install_manifests, start_sync, start_webhook, wait_admission
from tests.cluster.testbed.toolchain import ModulesUnavailableError
from tests.cluster.testbed.wait import until

STEPS: Final = (0, 16, 32, 48, 64, 80)
"""GPUs, as nodes are added."""
GPUS_OF_A_NODE: Final = 8
WIDTH: Final = 120
"""Columns where there is no terminal."""
CANNOT_RUN: Final = (
    *(ModulesUnavailableError, BuildFailedError, ComponentDiedError),
    *(ApiError, KubectlError, TimeoutError, OSError),
)
CANNOT_RUN_CODE: Final = 2
INTERRUPTED: Final = 130


def main() -> int:
    """Build what is missing, run everything, stop everything; give the exit code."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    for each in (signal.SIGINT, signal.SIGTERM):  # a background shell has its children ignore SIGINT
        signal.signal(each, _interrupt)
    try:
        return _demonstrate(build(sys.stderr), console)
    except KeyboardInterrupt:
        console.print("Interrupted; everything is stopped.")
        return INTERRUPTED
    except CANNOT_RUN as error:
        console.print(f"The demo could not run: {error}", markup=False)
        return CANNOT_RUN_CODE


def run(cluster: Cluster, namespace: str, console: Console) -> int:
    """Apply the files, add nodes, count; give 0 if every row is as the documents say, else 1."""
    for file in DISAGGREGATED.files:
        _type(cluster, console, "apply", "-n", namespace, "-f", str(file))
    wait_pods(cluster, namespace, DISAGGREGATED.pods)
    until(lambda: items(cluster.api, path("podgroups", namespace)), "there is a PodGroup")
    console.print(f"\n{DISAGGREGATED.pods} pods exist. Now nodes of {GPUS_OF_A_NODE} GPUs join:\n")
    wrong = [str(gpus) for gpus in STEPS if not _is_right(cluster, namespace, gpus, console)]
    console.print("\nThe gang is one object, made by the controller:")
    _type(cluster, console, "get", "podgroup", "-n", namespace)
    console.print(f"WRONG with {', '.join(wrong)} GPUs." if wrong else "Every row is as the documents say.")
    return 1 if wrong else 0


def _demonstrate(built: Built, console: Console) -> int:
    started = time.monotonic()
    with ExitStack() as stack:
        with console.status("a few seconds"):
            console.print("Starting etcd, the API server, its controllers, LWS, Volcano and kwok.")
            cluster = stack.enter_context(running(built))
            console.print("Starting our webhook and our controller.\n")
            _start_ours(cluster)
        code = run(cluster, "default", console)
    console.print(f"All processes are stopped, after {time.monotonic() - started:.0f} s.")
    return code


def _start_ours(cluster: Cluster) -> None:
    install_manifests(cluster)
    start_webhook(cluster)
    wait_admission(cluster)
    start_sync(cluster)


def _type(cluster: Cluster, console: Console, *words: str) -> None:
    """Run kubectl, and show the line that a person would type at the root of this checkout."""
    typed = shlex.join(["kubectl", *(word.removeprefix(f"{ROOT}/") for word in words)])
    console.print(f"$ {typed}", style="bold", soft_wrap=True)
    console.print(kubectl(cluster, *words).rstrip(), markup=False, soft_wrap=True)


def _is_right(cluster: Cluster, namespace: str, gpus: int, console: Console) -> bool:
    """Add nodes up to so many GPUs; show and compare what is bound once the scheduler rests.

    A row is right if it has these groups and no others, each bound as a whole or not at all.
    """
    there = len(items(cluster.api, path("nodes")))
    add_gpu_nodes(cluster, gpus // GPUS_OF_A_NODE - there, GPUS_OF_A_NODE)
    counted, wanted = settled(cluster, namespace), expected(DISAGGREGATED, gpus)
    groups = ", ".join(_shown(group, counted, wanted) for group in wanted)
    verdict = "right" if counted == wanted else "WRONG"
    documents = DISAGGREGATED.rows[gpus][1]
    console.print(f"{gpus} GPUs: {groups}: {verdict}; the documents: {documents}", soft_wrap=True)
    return counted == wanted


def _shown(group: str, counted: Counted, wanted: Counted) -> str:
    """Return the bound pods of a group, all its pods, and how many the documents expect to be bound."""
    bound, there = counted.get(group, (0, 0))
    return f"{short(DISAGGREGATED, group)} {bound}/{there} (expected {wanted[group][0]})"


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
