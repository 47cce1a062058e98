"""The CREATE of an object that names a template, beside the CREATE of the same object written out.

Both are dry runs that the same webhook admits, and both are stored with the same pods. The first one has our
webhook read the template from the API server.
"""

from collections.abc import Sequence
from statistics import median
from typing import Final

from intent import Object
from intent.annotations import SERVICE
from tests.bench.histogram import together
from tests.bench.report import Row, row
from tests.bench.stages import engine_template
from tests.bench.writes import DRY, PLACE, Round, Write, create
from tests.builders.templates import template
from tests.cluster.testbed.api import Api, call, path

NAME: Final = "engine"
NAMED: Final = "a CREATE with a template"
WRITTEN_OUT: Final = "a CREATE written out"
MUTATE: Final = "mutate.fusioninfer.io"


def templated(server: Api) -> tuple[Write, Write]:
    """Store a template; return the CREATE of an object that names it, and that of the same written out."""
    content = template({"template": engine_template()}, name=NAME)
    call(server, "POST", path("inferencetemplates", "default"), content)
    named = _leaderworkerset({}, {"fusioninfer.io/base-refs": NAME})
    written_out = _leaderworkerset(engine_template(), {})
    expected = pods(call(server, "POST", PLACE + DRY, written_out))
    return create(NAMED, named, pods, expected), create(WRITTEN_OUT, written_out, pods, expected)


def pods(live: Object) -> object:
    """Return what pods are made of."""
    return live["spec"]["leaderWorkerTemplate"]


def compared(named: Sequence[Round], written_out: Sequence[Round]) -> tuple[Row, Row, Row]:
    """Report the CPU of our process and the time that the API server waits, each as a ratio of the two."""
    pairs = list(zip(named, written_out, strict=True))
    return _spent(pairs), *_waited(pairs)


def _spent(pairs: Sequence[tuple[Round, Round]]) -> Row:
    cpu = [tuple(one.cpu["webhook"] * 1e6 for one in pair) for pair in pairs]
    us, without = (median(each) for each in zip(*cpu, strict=True))
    ms, ms_without = (median(one.seconds for one in each) * 1e3 for each in zip(*pairs, strict=True))
    beside = {"us": us, "us_written_out": without, "ms_of_the_write": ms, "ms_written_out": ms_without}
    return row(f"CPU of {NAMED}, beside written out", "x", [one / other for one, other in cpu], **beside)


def _waited(pairs: Sequence[tuple[Round, Round]]) -> tuple[Row, Row]:
    means = [tuple(one.seen[MUTATE].mean * 1e3 for one in pair) for pair in pairs]
    ms, without = (median(each) for each in zip(*means, strict=True))
    mean = [one / other for one, other in means]
    at, at_without = (
        together(one.seen[MUTATE] for one in each).quantile(0.99) * 1e3 for each in zip(*pairs, strict=True)
    )
    ratio = 1.0 if at == at_without else at / at_without  # both may be beyond the last bound
    what = f"of mutate, {NAMED.removeprefix('a ')}, beside written out"
    return (
        row(f"mean {what}", "x", mean, ms=ms, ms_written_out=without),
        row(f"99 % {what}", "x", [ratio], ms_at_most=at, ms_at_most_written_out=at_without),
    )


def _leaderworkerset(workers: Object, annotations: Object) -> Object:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "templated", "annotations": {SERVICE: "templated", **annotations}},
        "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": workers}},
    }
