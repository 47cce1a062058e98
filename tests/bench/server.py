"""The webhook as a process, beside its own server with nothing behind it: CPU of a request.

Both run at once and take turns; what is compared are the two blocks of one round. Each has a few kept
connections, on all of which a request is sent before the answers are read: a server that waits for every
single one loses its place in the processor's caches to whatever else runs, and is measured with that. That is
how an API server comes: the last rows say what a request costs then. Each pair of processes is started anew a
few times.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from statistics import median
from typing import Final

import orjson

from tests.bench import nothing, stages
from tests.bench.process import cpu_seconds
from tests.bench.report import Row, expect, row
from tests.bench.run import Run
from tests.bench.servers import NOTHING, OURS, Server, started
from tests.bench.varied import varied
from tests.bench.wire import Line, connected, request

CHECKED: Final = "CREATE, validate: checked"
CALLS: Final = {
    "a request: nothing to do": "CREATE, mutate: nothing to do",
    "a request: pinned": "UPDATE, mutate: pinned",
    "a request: expanded": stages.EXPANDED,
    "a request: checked": CHECKED,
    "a request after a rest: expanded": stages.EXPANDED,
    "a request after a rest: checked": CHECKED,
}
"""The requests: cases of `stages`, by the names of the rows."""
REST: Final = 0.02
"""Seconds before each request of the rows that say so, as between two writes of one client."""
CONNECTIONS: Final = 25
"""As many as an API server keeps (`k8s.io/apimachinery` `util/net`, `MaxIdleConnsPerHost` in client-go)."""
Call = tuple[bytes, bytes]
"""A request, and the body that must answer it."""
Costs = dict[str, list[tuple[float, float]]]
"""CPU seconds of a request, ours and that with nothing behind it, by the names of the rows."""


def measure(run: Run, ours: tuple[str, ...] = OURS) -> Iterator[Row]:
    """Measure every call on fresh pairs of processes."""
    calls = {name: _calls(case) for name, case in CALLS.items()}
    costs: Costs = {name: [] for name in calls}
    for _ in range(run.effort.servers):
        with started(ours) as one, started(NOTHING) as other:
            _compare(one, other, calls, run, costs)
    for name, found in costs.items():
        yield row(name, "x", [one / other for one, other in found], **_beside(found, calls[name][0][0]))


def _calls(case: str) -> list[Call]:
    """Return the requests of a case, and what the same code says in process; objects to expand differ all."""
    answer, body = stages.cases()[case]
    live = orjson.loads(body)["request"]["object"]
    bodies = [stages.body(other) for other in varied(live)] if case == stages.EXPANDED else [body]
    path = "/mutate" if "mutate" in case else "/validate"
    return [(request(path, each), answer(each).body) for each in bodies]


def _compare(ours: Server, other: Server, calls: Mapping[str, list[Call]], run: Run, costs: Costs) -> None:
    with _connected(ours) as lines, _connected(other) as floor:
        _check(lines, calls)
        expect(floor[0].ask(request("/mutate", b"{}")), nothing.ALLOWED.body, "nothing behind it")
        for _ in run.rounds(run.effort.rounds, "server"):
            for name, each in calls.items():
                block, count = (
                    (_rested, run.effort.rested) if "rest:" in name else (_block, run.effort.requests)
                )
                sent = [one for one, _answer in islice(cycle(each), count)]
                costs[name].append((block(ours, lines, sent), block(other, floor, sent)))
        _check(lines, calls)


@contextmanager
def _connected(server: Server) -> Iterator[list[Line]]:
    with ExitStack() as stack:
        yield [stack.enter_context(connected(server.port, server.trust)) for _ in range(CONNECTIONS)]


def _check(lines: list[Line], calls: Mapping[str, list[Call]]) -> None:
    for name, each in calls.items():
        for line, (sent, answer) in zip(cycle(lines), each, strict=False):
            expect(orjson.loads(line.ask(sent)), orjson.loads(answer), name)


def _block(server: Server, lines: list[Line], sent: list[bytes]) -> float:
    """Return the CPU seconds of one request."""
    before = cpu_seconds(server.pid)
    for at in range(0, len(sent), len(lines)):
        used = list(zip(lines, sent[at : at + len(lines)], strict=False))
        for line, one in used:
            line.send(one)
        for line, _one in used:
            line.answer()
    return _since(before, server) / len(sent)


def _rested(server: Server, lines: list[Line], sent: list[bytes]) -> float:
    """Return the CPU seconds of one request, each after a rest."""
    before = cpu_seconds(server.pid)
    for one in sent:
        time.sleep(REST)
        lines[0].ask(one)
    return _since(before, server) / len(sent)


def _since(before: float, server: Server) -> float:
    """Return the CPU seconds since then; of what still runs the kernel counts nothing before it rests."""
    time.sleep(REST)
    return cpu_seconds(server.pid) - before


def _beside(found: list[tuple[float, float]], sent: bytes) -> dict[str, float]:
    ours, other = (median(cost) * 1e6 for cost in zip(*found, strict=True))
    return {"us": ours, "us_with_nothing_behind": other, "bytes": len(sent)}
