"""Measure the controller with ten thousand services: memory, CPU, and the effect on admission meanwhile.

The store is a real API server's, without controllers: what costs is the controller alone. Each service is one
LeaderWorkerSet and has one PodGroup; for some the controller creates it first. Then the controller is
restarted, lists everything and reconciles every service; then some are scaled, which needs no write.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

import orjson

from intent import Object
from intent.service.member import member
from intent.settings import Settings
from sync.desired.gang import plan
from sync.desired.render.workloads import gang_objects
from sync.observed.snapshot import Situation
from tests.bench import stages, store
from tests.bench.process import cpu_seconds, memory
from tests.bench.report import Row, expect, row
from tests.bench.run import Run
from tests.bench.servers import OURS, Server, started
from tests.bench.wire import connected, request
from tests.cluster.testbed.admissions import CONFIGURATIONS
from tests.cluster.testbed.api import delete, items, path
from tests.cluster.testbed.build import build
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process, running
from tests.cluster.testbed.controllers import LEASE, metric
from tests.cluster.testbed.ours import install_manifests, start_sync
from tests.cluster.testbed.wait import until

RECONCILES: Final = "fusioninfer_sync_reconciles_total"
WRITES: Final = "fusioninfer_sync_writes_total"
PATIENCE: Final = 1800.0
"""Seconds for the controller to look at everything, on a machine that is busy."""
PAUSE: Final = 0.005
"""Seconds between two reviews, so that who measures leaves the machine to the others."""
BATCH: Final = 100
"""Reviews on one connection; the webhook closes old ones."""


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU and memory of the controller since its start."""

    cpu: float
    mib: float
    most: float
    """MiB at most so far."""


def measure(run: Run) -> Iterator[Row]:
    """Start a store of our own, fill it, and measure on it."""
    with running(build(sys.stderr), control=()) as cluster, started(OURS) as webhook:
        install_manifests(cluster)
        for where in CONFIGURATIONS:  # what is stored here is expanded already
            delete(cluster.api, where)
        yield from measured(cluster, webhook, run)


def measured(cluster: Cluster, webhook: Server, run: Run) -> Iterator[Row]:
    """Measure one piece of work after the other."""
    names = [f"service-{at}" for at in range(run.effort.objects)]
    empty = _started(cluster)
    _fill(cluster, names, run)
    quiet = _reviews(webhook, _rounds(run.effort.reviews // BATCH))

    _started(cluster)
    busy = _reviews(webhook, lambda: _looks(cluster) > len(names))
    making = _stopped(cluster)
    _expect_pod_groups(cluster, names)

    full = _started(cluster)
    _wait_looks(cluster, len(names) + 1)
    looking = _spent(cluster)
    changes = run.effort.changes
    store.scale(cluster, names[:changes], run)
    _wait_looks(cluster, len(names) + 1 + changes)
    expect(_written(cluster), 0.0, "writes where all is as it should be")
    changing = _stopped(cluster)

    at_rest = {"empty": empty.mib, "full": looking.mib, "after_gangs_made": making.mib}
    yield row("memory, at most", "MiB", [max(making.most, changing.most)], **at_rest)
    yield row("CPU of the list", "s", [full.cpu - empty.cpu], objects=2 * len(names), to_start=empty.cpu)
    yield row("CPU of a reconcile", "ms", [(looking.cpu - full.cpu) / len(names) * 1e3])
    yield row("CPU of a gang made", "ms", [(making.cpu - looking.cpu) / run.effort.gangs * 1e3])
    yield row("CPU of a change", "ms", [(changing.cpu - looking.cpu) / changes * 1e3])
    yield _tail(quiet, busy)


def _fill(cluster: Cluster, names: list[str], run: Run) -> None:
    """Let the controller create one PodGroup; then fill the store with copies, some without PodGroup."""
    store.first(cluster)
    _wait_looks(cluster, 1)
    _stopped(cluster)
    store.copy(cluster, store.SETS, names, run)
    store.copy(cluster, store.POD_GROUPS, names[: -run.effort.gangs], run)


# --- the controller ---------------------------------------------------------------------------------------


def _started(cluster: Cluster) -> Spent:
    """Start the controller; give what it spent until its caches were full."""
    delete(cluster.api, LEASE)
    start_sync(cluster)
    return _spent(cluster)


def _stopped(cluster: Cluster) -> Spent:
    """End the controller; give what it spent."""
    spent = _spent(cluster)
    kill_process(cluster, "sync")
    return spent


def _spent(cluster: Cluster) -> Spent:
    pid = cluster.processes["sync"].pid
    return Spent(cpu_seconds(pid), memory(pid), memory(pid, "VmHWM"))


def _looks(cluster: Cluster) -> float:
    """Count the reconciles that succeeded; raise if one met a bug."""
    port = cluster.ports["sync-metrics"]
    try:
        expect(metric(port, RECONCILES, outcome="bug"), 0.0, "bugs met by the controller")
        return metric(port, RECONCILES, outcome="done")
    except TimeoutError:  # the machine is busy; asked again soon
        return 0.0


def _wait_looks(cluster: Cluster, count: int) -> None:
    until(lambda: _looks(cluster) >= count, f"{count} looks at services", seconds=PATIENCE, every=0.5)


def _written(cluster: Cluster) -> float:
    return metric(cluster.ports["sync-metrics"], WRITES, kind="PodGroup")


def _expect_pod_groups(cluster: Cluster, names: list[str]) -> None:
    """Hold every PodGroup against what the plan of its service renders."""
    stored = {each["metadata"]["name"]: each["spec"] for each in items(cluster.api, path("podgroups"))}
    expect(len(stored), len(names) + 1, "PodGroups")
    wanted = orjson.dumps(_wanted(store.PATTERN)["spec"])
    for name in names:
        asked = orjson.loads(wanted.replace(store.PATTERN.encode(), name.encode()))
        expect({key: stored[name].get(key) for key in asked}, asked, f"PodGroup {name}")


def _wanted(name: str) -> Object:
    one = member(store.member(name))
    assert one is not None
    (pod_group,) = gang_objects(plan(Situation(one.key, (one,)), Settings()))
    return pod_group


# --- admission meanwhile ----------------------------------------------------------------------------


def _rounds(count: int) -> Callable[[], bool]:
    """Be done when asked for the last time of so many."""
    left = iter(range(count - 1))
    return lambda: next(left, None) is None


def _reviews(webhook: Server, is_done: Callable[[], bool]) -> list[float]:
    """Send reviews straight to the webhook until something else is done; give the seconds of each."""
    answer, sent = stages.cases()["CREATE, mutate: expanded"]
    asked, found = request("/mutate", sent), []
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with connected(webhook.port, webhook.trust) as line:
            expect(line.ask(asked), answer(sent).body, "a review meanwhile")
            for _ in range(BATCH):
                since = time.perf_counter()
                line.ask(asked)
                found.append(time.perf_counter() - since)
                time.sleep(PAUSE)
        if is_done():
            return found
    raise TimeoutError(f"not within {PATIENCE} s")


def _tail(quiet: list[float], busy: list[float]) -> Row:
    before, after = (quantiles(seconds, n=100)[-1] * 1e3 for seconds in (quiet, busy))
    medians = {"ms_of_half": median(busy) * 1e3, "quiet": median(quiet) * 1e3}
    return row("99 % of reviews, busy", "x", [after / before], ms=after, ms_quiet=before, **medians)
