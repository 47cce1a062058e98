"""Dry runs of writes on the real API server: the CPU and the time that admission spends on each.

All writes are dry runs, so no process has anything else to do with the objects. The CPU that each process
spends when idle is subtracted. The API server's own histogram says how long it waited for each webhook.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from intent import Object
from tests.bench.histogram import Seen, between, read
from tests.bench.process import cpu_seconds
from tests.bench.report import expect
from tests.bench.run import Run
from tests.cluster.testbed.api import Api, call, get, path
from tests.cluster.testbed.cluster import Cluster

PLACE: Final = path("leaderworkersets", "default")
DRY: Final = "?dryRun=All"
Cpu = Mapping[str, float]
"""CPU seconds, by the name of the process."""
REST: Final = 1.0
"""Seconds for which all processes are left alone, to measure what they spend when idle."""


STILL: Final = 3
"""Rests after which a stored object that did not change is taken to stay as it is."""


@dataclass(frozen=True, slots=True)
class Write:
    """One kind of write: the request, and what of the answer must equal what."""

    name: str
    operation: str
    method: str
    target: str
    sent: Object
    part: Callable[[Object], object]
    """Reads the part of an admitted object that admission writes."""
    expected: object


@dataclass(frozen=True, slots=True)
class Round:
    """The cost of one round of one kind of write."""

    cpu: Cpu
    """Of one write."""
    seen: Seen
    """All calls of webhooks."""
    seconds: float
    """How long the client waited for one write."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where writes are sent, and the processes whose CPU is counted."""

    cluster: Cluster
    processes: Sequence[str]

    def rounds(self, writes: Sequence[Write], run: Run, what: str) -> Mapping[str, list[Round]]:
        """Measure every kind of write, all of them in each round; return the rounds by name."""
        found = defaultdict[str, list[Round]](list)
        for write in writes:
            self._send(write, run.effort.warm)
        for _ in run.rounds(run.effort.rounds, what):
            idle = self._idle()
            for write in writes:
                found[write.name].append(self._round(write, idle, run.effort.writes))
        return found

    def _round(self, write: Write, idle: Cpu, count: int) -> Round:
        """Send writes; subtract the CPU that the processes spend in that time anyway."""
        seen, cpu, since = self._seen(write), self._cpu(), time.monotonic()
        self._send(write, count)
        seconds = time.monotonic() - since
        after = self._cpu()
        each = {name: max(0.0, after[name] - cpu[name] - idle[name] * seconds) / count for name in cpu}
        return Round(each, between(seen, self._seen(write)), seconds / count)

    def _send(self, write: Write, count: int) -> None:
        """Send so many, and compare what comes back with what must be in it."""
        for _ in range(count):
            answer = call(self.cluster.api, write.method, write.target, write.sent)
            expect(write.part(answer), write.expected, write.name)
            expect(answer["spec"]["replicas"], write.sent["spec"]["replicas"], write.name)

    def _seen(self, write: Write) -> Seen:
        return read(get(self.cluster.api, "/metrics")["message"], write.operation)  # it is no JSON

    def _cpu(self) -> Cpu:
        return {name: cpu_seconds(self.cluster.processes[name].pid) for name in self.processes}

    def _idle(self) -> Cpu:
        """Return the CPU seconds that each process spends in a second in which nothing happens."""
        before, since = self._cpu(), time.monotonic()
        time.sleep(REST)
        seconds = time.monotonic() - since
        after = self._cpu()
        return {name: (after[name] - before[name]) / seconds for name in before}


def create(name: str, sent: Object, part: Callable[[Object], object], expected: object) -> Write:
    """Return the CREATE of an object."""
    return Write(name, "CREATE", "POST", PLACE + DRY, sent, part, expected)


def update(name: str, stored: Object, part: Callable[[Object], object]) -> Write:
    """Return the UPDATE of the replicas of a stored object; what admission wrote must stay as it is."""
    changed = stored | {"spec": stored["spec"] | {"replicas": 3}}
    target = f"{PLACE}/{stored['metadata']['name']}{DRY}"
    return Write(name, "UPDATE", "PUT", target, changed, part, part(stored))


def store(server: Api, live: Object, name: str) -> Object:
    """Store an object without replicas, so without pods; return it once its controller is done with it."""
    body = {**live, "metadata": live["metadata"] | {"name": name}, "spec": live["spec"] | {"replicas": 0}}
    stored, unchanged = call(server, "POST", PLACE, body), 0
    while unchanged < STILL:
        time.sleep(REST)
        now = get(server, f"{PLACE}/{name}")
        is_same = now["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]
        stored, unchanged = now, unchanged + 1 if is_same else 0
    return stored


def alone(live: Object) -> Object:
    """Leave out what an API server writes itself."""
    metadata = {key: value for key, value in live["metadata"].items() if key in {"name", "annotations"}}
    return live | {"metadata": metadata}
