"""The controller and LWS's own manager as processes: what they spent, and one beside the other."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.bench import store
from tests.bench.process import cpu_seconds, memory
from tests.bench.report import Row, row
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import COMPONENTS
from tests.cluster.testbed.control_plane import log_of, start_process, wait_ready

LWS: Final = "lws"
"""The process of LWS's manager."""
WINDOW: Final = 5.0
"""Seconds over which a process is at rest."""
AT_REST: Final = 0.02
"""Share of a processor that a process takes at most while it is at rest."""
STARTING: Final = "Starting Controller"
HAS_WORKERS: Final = "Starting workers"
"""Lines of controller-runtime's log (`pkg/internal/controller/controller.go`), one of each per controller."""
PATIENCE: Final = 1800.0
"""Seconds for the controller to look at everything, on a machine that is busy."""


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU and memory of a process since its start."""

    cpu: float
    mib: float
    most: float
    """MiB at most so far."""


def spent(cluster: Cluster, name: str = "sync") -> Spent:
    """Return what a process spent until now."""
    pid = cluster.processes[name].pid
    return Spent(cpu_seconds(pid), memory(pid), memory(pid, "VmHWM"))


def rested(cluster: Cluster, name: str) -> Spent:
    """Wait until a process is at rest; give what it spent until then."""
    deadline = time.monotonic() + PATIENCE
    found = spent(cluster, name)
    while time.monotonic() < deadline:
        time.sleep(WINDOW)
        before, found = found, spent(cluster, name)
        if found.cpu - before.cpu < AT_REST * WINDOW:
            return found
    raise TimeoutError(f"not within {PATIENCE} s: {name} is at rest")


def _said(cluster: Cluster) -> tuple[int, int]:
    """Count the controllers that LWS's log names, and those whose caches were full: they have workers."""
    log = log_of(cluster, LWS).read_text()
    return log.count(STARTING), log.count(HAS_WORKERS)


def lws_started(cluster: Cluster) -> tuple[Spent, int]:
    """Start LWS's manager; give what it spent until it was at rest, and how many objects it wrote."""
    before, said, lws = store.revision(cluster), _said(cluster), COMPONENTS[LWS]
    start_process(cluster, LWS, [str(cluster.built.binary(lws.binary)), *lws.args(cluster)])
    wait_ready(cluster, LWS, lambda _: said[0] < _said(cluster)[0] == _said(cluster)[1], seconds=PATIENCE)
    found = rested(cluster, LWS)
    return found, store.written_since(cluster, before)


def both(cluster: Cluster) -> tuple[Spent, Spent]:
    """Return what the controller and LWS's manager spent."""
    return spent(cluster), spent(cluster, LWS)


def between(before: tuple[Spent, Spent], after: tuple[Spent, Spent], scale: float) -> Iterator[float]:
    """Yield the CPU between two times, ours and LWS's."""
    for start, end in zip(before, after, strict=True):
        yield (end.cpu - start.cpu) * scale


def beside(name: str, unit: str, ours: float, theirs: float, **more: float) -> Row:
    """Report a figure of ours as a ratio to that of LWS's manager."""
    return row(name, "x", [ours / theirs], **{unit: ours, f"{unit}_of_lws": theirs}, **more)
