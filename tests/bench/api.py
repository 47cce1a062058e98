"""One write of a LeaderWorkerSet on the real API server: what our webhooks cost beside LWS's own.

Both admit the same dry runs (`writes.py`). Templates are switched on: what an object costs that names one is
compared with the same object written out (`templated.py`).
"""

import sys
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from intent import Object
from intent.annotations import EXPANSION
from tests.bench.histogram import NONE, Seen, together
from tests.bench.report import Row, row
from tests.bench.run import Run
from tests.bench.stages import body, leaderworkerset, patched
from tests.bench.templated import compared, templated
from tests.bench.writes import Bench, Round, Write, alone, create, store, update
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.build import build
from tests.cluster.testbed.control_plane import running
from tests.cluster.testbed.ours import install_manifests, start_templated_webhook, wait_admission
from webhook import review

PROCESSES: Final = ("webhook", "lws")
WEBHOOKS: Final = {
    "mutate": ("mutate.fusioninfer.io", "mleaderworkerset.kb.io"),
    "validate": ("validate.fusioninfer.io", "vleaderworkerset.kb.io"),
}
"""Ours and LWS's own, by what they do."""


def measure(run: Run) -> Iterator[Row]:
    """Start a control plane of our own, and measure on it."""
    with running(build(sys.stderr), control=("lws",)) as cluster:
        install_manifests(cluster)
        start_templated_webhook(cluster)
        wait_admission(cluster)
        yield from measured(Bench(cluster, PROCESSES), run)


def measured(bench: Bench, run: Run) -> Iterator[Row]:
    """Measure every kind of write, all of them in each round."""
    writes, (named, written_out) = _writes(bench.cluster.api), templated(bench.cluster.api)
    found = bench.rounds((*writes, named, written_out), run, "api")
    for write in writes:
        yield _spent(write, found[write.name], run.effort.writes)
        if write.expected is not None:
            for does, pair in WEBHOOKS.items():
                yield from _waited(
                    f"{does}, {write.operation}", pair, [one.seen for one in found[write.name]]
                )
    yield from compared(found[named.name], found[written_out.name])


def record(live: Object) -> object:
    """Return the record of an expansion."""
    return live["metadata"].get("annotations", {}).get(EXPANSION)


def ours(server: Api) -> tuple[Write, Write]:
    """Return a CREATE and an UPDATE that our webhooks admit."""
    live = alone(leaderworkerset())
    expanded = patched(live, review.mutate(body(live)))
    stored = store(server, live, "stored")
    return create("a CREATE", live, record, record(expanded)), update("an UPDATE", stored, record)


def _writes(server: Api) -> Sequence[Write]:
    """Return the requests; the last one has no annotation of ours."""
    live = alone(leaderworkerset())
    plain = live | {"metadata": {"name": "plain", "annotations": {"team": "serving"}}}
    return (*ours(server), create("a plain CREATE", plain, record, None))


# --- rows -------------------------------------------------------------------------------------------


def _spent(write: Write, rounds: list[Round], count: int) -> Row:
    """Report the CPU of all calls for one write, and how many calls there were."""
    own, theirs = (median(one.cpu[name] for one in rounds) * 1e6 for name in PROCESSES)
    calls = [_calls(rounds, at) / count / len(rounds) for at in (0, 1)]
    beside = {"us": own, "us_of_lws": theirs, "calls": calls[0], "calls_of_lws": calls[1]}
    ratios = [one.cpu["webhook"] / one.cpu["lws"] for one in rounds]
    waited = median(one.seconds for one in rounds) * 1e3
    return row(f"CPU of {write.name}", "x", ratios, **beside, ms_of_the_write=waited)


def _calls(rounds: list[Round], at: int) -> float:
    """Count the calls of ours (0) or of LWS's (1)."""
    return sum(one.seen.get(pair[at], NONE).count for one in rounds for pair in WEBHOOKS.values())


def _waited(what: str, pair: tuple[str, str], seen: list[Seen]) -> Iterator[Row]:
    """Report how long the API server waited for ours beside LWS's."""
    means = [(one[pair[0]].mean * 1e3, one[pair[1]].mean * 1e3) for one in seen]
    mean, theirs = (median(each) for each in zip(*means, strict=True))
    yield row(f"mean of {what}", "x", [own / other for own, other in means], ms=mean, ms_of_lws=theirs)
    own, other = (together(one[name] for one in seen).quantile(0.99) * 1e3 for name in pair)
    ratio = 1.0 if own == other else own / other  # both may be beyond the last bound
    yield row(f"99 % of {what}", "x", [ratio], ms_at_most=own, ms_at_most_of_lws=other)
