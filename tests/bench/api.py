"""One write of a LeaderWorkerSet on the real API server: what our webhooks cost beside LWS's own.

Both are asked about the same dry runs, so neither process has anything else to do with them; what each of
them spends when idle is subtracted. The API server's own histogram says how long it waited for
each webhook.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final

import orjson

from intent import Object
from intent.annotations import EXPANSION
from tests.bench.histogram import NONE, Seen, between, read, together
from tests.bench.kept import Kept, kept
from tests.bench.process import cpu_seconds
from tests.bench.report import Row, expect, row
from tests.bench.run import Run
from tests.bench.stages import body, leaderworkerset, patched
from tests.cluster.testbed.api import path
from tests.cluster.testbed.build import build
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import running
from tests.cluster.testbed.ours import install_manifests, start_webhook, wait_admission
from webhook import review

PLACE: Final = path("leaderworkersets", "default")
PROCESSES: Final = ("webhook", "lws")
WEBHOOKS: Final = {
    "mutate": ("mutate.fusioninfer.io", "mleaderworkerset.kb.io"),
    "validate": ("validate.fusioninfer.io", "vleaderworkerset.kb.io"),
}
"""Ours and LWS's own, by what they do."""
Cpu = tuple[float, float]
"""CPU seconds, by `PROCESSES`."""
REST: Final = 1.0
"""Seconds for which both are left alone, to see what they spend then."""


@dataclass(frozen=True, slots=True)
class Write:
    """One kind of write: what is sent, and what must stand in the record of what comes back."""

    name: str
    operation: str
    method: str
    target: str
    sent: Object
    record: str | None


@dataclass(frozen=True, slots=True)
class Round:
    """The cost of one round of one kind of write."""

    cpu: Cpu
    """Of one write."""
    seen: Seen
    """All calls of webhooks."""
    seconds: float
    """How long the client waited for one write."""


def measure(run: Run) -> Iterator[Row]:
    """Start a control plane of our own, and measure on it."""
    with running(build(sys.stderr), control=("lws",)) as cluster:
        install_manifests(cluster)
        start_webhook(cluster)
        wait_admission(cluster)
        with kept(cluster.api) as line:
            yield from measured(cluster, line, run)


def measured(cluster: Cluster, line: Kept, run: Run) -> Iterator[Row]:
    """Measure every kind of write, all of them in each round."""
    writes, found = _writes(line), defaultdict[str, list[Round]](list)
    for write in writes:
        _send(line, write, run.effort.warm)
    for _ in run.rounds(run.effort.rounds, "api"):
        idle = _idle(cluster)
        for write in writes:
            found[write.name].append(_round(cluster, line, write, idle, run.effort.writes))
    for write in writes:
        yield _spent(write, found[write.name], run.effort.writes)
        if write.record is not None:
            for does, pair in WEBHOOKS.items():
                yield from _waited(
                    f"{does}, {write.operation}", pair, [one.seen for one in found[write.name]]
                )


def _writes(line: Kept) -> tuple[Write, ...]:
    """Return the requests; the object of the update is stored first, without replicas, so it has no pods."""
    live = _alone(leaderworkerset())
    plain = live | {"metadata": {"name": "plain", "annotations": {"team": "serving"}}}
    record = patched(live, review.mutate(body(live)))["metadata"]["annotations"][EXPANSION]
    stored = line.call("POST", PLACE, _renamed(live, "stored", replicas=0))
    settled = _settled(line, f"{PLACE}/stored", stored)
    changed = settled | {"spec": settled["spec"] | {"replicas": 3}}
    again = settled["metadata"]["annotations"][EXPANSION]
    dry = "?dryRun=All"
    return (
        Write("a CREATE", "CREATE", "POST", PLACE + dry, live, record),
        Write("an UPDATE", "UPDATE", "PUT", f"{PLACE}/stored{dry}", changed, again),
        Write("a plain CREATE", "CREATE", "POST", PLACE + dry, plain, None),
    )


def _alone(live: Object) -> Object:
    """Leave out what an API server writes itself."""
    metadata = {key: value for key, value in live["metadata"].items() if key in {"name", "annotations"}}
    return live | {"metadata": metadata}


def _renamed(live: Object, name: str, replicas: int) -> Object:
    return live | {
        "metadata": live["metadata"] | {"name": name},
        "spec": live["spec"] | {"replicas": replicas},
    }


def _settled(line: Kept, where: str, stored: Object) -> Object:
    """Wait until its controller has said what it has to say."""
    while True:
        time.sleep(REST)
        now = line.call("GET", where)
        if now["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]:
            return now
        stored = now


def _round(cluster: Cluster, line: Kept, write: Write, idle: Cpu, count: int) -> Round:
    """Send writes; subtract the CPU that both processes spend in that time anyway."""
    seen, cpu, since = _seen(line, write), _cpu(cluster), time.monotonic()
    _send(line, write, count)
    seconds = time.monotonic() - since
    spent = zip(cpu, _cpu(cluster), idle, strict=True)
    each = [max(0.0, after - before - at_rest * seconds) / count for before, after, at_rest in spent]
    return Round((each[0], each[1]), between(seen, _seen(line, write)), seconds / count)


def _send(line: Kept, write: Write, count: int) -> None:
    """Send so many, and hold what comes back against what must be in it."""
    sent = orjson.dumps(write.sent)
    for _ in range(count):
        answer = orjson.loads(line.send(write.method, write.target, sent))
        expect(answer["metadata"]["annotations"].get(EXPANSION), write.record, write.name)
        expect(answer["spec"]["replicas"], write.sent["spec"]["replicas"], write.name)


def _seen(line: Kept, write: Write) -> Seen:
    return read(line.send("GET", "/metrics").decode(), write.operation)


def _cpu(cluster: Cluster) -> Cpu:
    ours, theirs = (cpu_seconds(cluster.processes[name].pid) for name in PROCESSES)
    return ours, theirs


def _idle(cluster: Cluster) -> Cpu:
    """Return the CPU seconds that each process spends in a second in which nothing happens."""
    before, since = _cpu(cluster), time.monotonic()
    time.sleep(REST)
    seconds = time.monotonic() - since
    ours, theirs = (after - start for start, after in zip(before, _cpu(cluster), strict=True))
    return ours / seconds, theirs / seconds


# --- rows -------------------------------------------------------------------------------------------


def _spent(write: Write, rounds: list[Round], count: int) -> Row:
    """Report the CPU of all calls for one write, and how many calls there were."""
    ours, theirs = (median(each) * 1e6 for each in zip(*(one.cpu for one in rounds), strict=True))
    calls = [_calls(rounds, at) / count / len(rounds) for at in (0, 1)]
    beside = {"us": ours, "us_of_lws": theirs, "calls": calls[0], "calls_of_lws": calls[1]}
    ratios = [own / other for own, other in (one.cpu for one in rounds)]
    waited = median(one.seconds for one in rounds) * 1e3
    return row(f"CPU of {write.name}", "x", ratios, **beside, ms_of_the_write=waited)


def _calls(rounds: list[Round], at: int) -> float:
    """Count the calls of ours (0) or of LWS's (1)."""
    return sum(one.seen.get(pair[at], NONE).count for one in rounds for pair in WEBHOOKS.values())


def _waited(what: str, pair: tuple[str, str], seen: list[Seen]) -> Iterator[Row]:
    """Report how long the API server waited for ours beside LWS's."""
    means = [(one[pair[0]].mean * 1e3, one[pair[1]].mean * 1e3) for one in seen]
    ours, theirs = (median(mean) for mean in zip(*means, strict=True))
    yield row(f"mean of {what}", "x", [own / other for own, other in means], ms=ours, ms_of_lws=theirs)
    own, other = (together(one[name] for one in seen).quantile(0.99) * 1e3 for name in pair)
    ratio = 1.0 if own == other else own / other  # both may be beyond the last bound
    yield row(f"99 % of {what}", "x", [ratio], ms_at_most=own, ms_at_most_of_lws=other)
