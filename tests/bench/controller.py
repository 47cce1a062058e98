"""Measure the controller with ten thousand services beside LWS's own manager: memory and CPU.

Each service is one LeaderWorkerSet with five pods and one PodGroup, in the store of a real API server; for
some the controller creates the PodGroup first. Then the controller is restarted, lists everything and
reconciles every service. LWS's manager starts on the same objects. Then both are idle, and at last some
LeaderWorkerSets are scaled, which needs no write of ours.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from intent import Object
from intent.service.member import member
from intent.settings import Settings
from sync.parts.gang import gang
from sync.snapshot import Situation
from tests.bench import store
from tests.bench.process import cpu_seconds, memory
from tests.bench.report import Row, expect, row
from tests.bench.run import Run
from tests.cluster.testbed.admissions import CONFIGURATIONS
from tests.cluster.testbed.api import delete, get, items, path
from tests.cluster.testbed.build import build
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import COMPONENTS, CONTROL
from tests.cluster.testbed.control_plane import kill_process, log_of, running, start_process, wait_ready
from tests.cluster.testbed.controllers import LEASE, metric
from tests.cluster.testbed.ours import MANIFESTS, install_manifests, start_sync
from tests.cluster.testbed.wait import until

# --- the controller and LWS's manager as processes ----------------------------------------------------

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


RECONCILES: Final = "fusioninfer_sync_reconciles_total"
WRITES: Final = "fusioninfer_sync_writes_total"
OBJECTS: Final = 2 + store.PODS
"""Objects of a service that the controller lists."""
WEBHOOKS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def measure(run: Run) -> Iterator[Row]:
    """Start a real API server of our own, with the real controllers and ours, and measure on it."""
    names = store.names(run.effort.objects)
    with running(build(sys.stderr)) as cluster:
        install_manifests(cluster)
        install_manifests(cluster, MANIFESTS.parent / "self-signed")
        for where in CONFIGURATIONS:  # what is stored here is expanded already
            delete(cluster.api, where)
        empty = _started(cluster)
        _fill(cluster, names, run)
        yield from _measured(cluster, names, empty, run)


def _measured(cluster: Cluster, names: list[str], empty: Spent, run: Run) -> Iterator[Row]:
    """Measure one piece of work after the other: of the controller alone, then of LWS's manager beside it."""
    _started(cluster)
    _wait_looks(cluster, len(names) + 1)
    until(lambda: _count(cluster, "podgroups") > len(names), "all PodGroups", seconds=PATIENCE, every=0.5)
    making = _stopped(cluster)
    _expect_pod_groups(cluster, names)

    full = _started(cluster)
    _wait_looks(cluster, len(names) + 1)
    looking = spent(cluster)
    at_rest = rested(cluster, "sync")
    theirs, written = lws_started(cluster)
    rested(cluster, "sync")
    before = both(cluster)
    time.sleep(run.effort.idle)
    idle = both(cluster)
    changes = run.effort.changes
    store.scale(cluster, names[:changes], run)
    _wait_looks(cluster, len(names) + 1 + changes)
    after = rested(cluster, "sync"), rested(cluster, LWS)
    expect(_written(cluster), 0.0, "writes where all is as it should be")

    memories = {"empty": empty.mib, "full": looking.mib, "after_gangs_made": making.mib}
    listed, objects = full.cpu - empty.cpu, OBJECTS * len(names)
    yield row("memory, at most", "MiB", [max(making.most, after[0].most)], **memories)
    each = listed / objects * 1e6
    yield row("CPU of the list", "s", [listed], objects=objects, us_of_each=each, to_start=empty.cpu)
    until_rest = (at_rest.cpu - full.cpu) / len(names) * 1e3
    yield row(
        "CPU of a reconcile", "ms", [(looking.cpu - full.cpu) / len(names) * 1e3], until_rest=until_rest
    )
    yield row("CPU of a gang made", "ms", [(making.cpu - looking.cpu) / run.effort.gangs * 1e3])
    yield beside("memory, beside LWS", "MiB", *(one.mib for one in idle))
    yield beside(
        "CPU until at rest, beside LWS", "s", at_rest.cpu, theirs.cpu, objects_that_lws_wrote=written
    )
    yield beside("CPU of an idle minute, beside LWS", "ms", *between(before, idle, 60e3 / run.effort.idle))
    yield beside("CPU of a change, beside LWS", "ms", *between(idle, after, 1e3 / changes))


def _fill(cluster: Cluster, names: list[str], run: Run) -> None:
    """Let the real controllers run one service; then fill the store with copies, some without PodGroup."""
    store.first(cluster)
    _wait_looks(cluster, 1)
    rested(cluster, LWS)
    _stopped(cluster)
    for name in CONTROL:
        kill_process(cluster, name)
    for configurations in WEBHOOKS:
        delete(cluster.api, path(configurations))
    known = store.pattern(cluster)
    for resource in store.FOLDERS:
        chosen = names[: -run.effort.gangs] if resource == store.POD_GROUPS else names
        store.copy(cluster, known, resource, chosen, run)
        store.expect_copies(cluster, known, resource, chosen)
    store.apply_services(cluster, known, names, run)
    expect(_count(cluster, "pods"), store.PODS * (len(names) + 1), "pods")


def _count(cluster: Cluster, resource: str) -> int:
    """Count the objects of a resource, of which there is one at least."""
    found = get(cluster.api, path(resource), limit="1")["metadata"]
    return int(found.get("remainingItemCount", 0)) + 1


# --- the controller ---------------------------------------------------------------------------------------

AS_INSTALLED: Final = {"--manage-certificates": "fusioninfer-webhook-tls"}
"""The flags of the chart's default."""


def _started(cluster: Cluster) -> Spent:
    """Start the controller; give what it spent until its caches were full."""
    delete(cluster.api, LEASE)
    start_sync(cluster, flags=AS_INSTALLED)
    return spent(cluster)


def _stopped(cluster: Cluster) -> Spent:
    """End the controller; give what it spent."""
    found = spent(cluster)
    kill_process(cluster, "sync")
    return found


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
    (pod_group,) = gang(Situation(one.key, (one,)), Settings()).objects
    return pod_group
