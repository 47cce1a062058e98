"""Stages of a review, as ratios to `json.loads` of the same body, in one run and one process.

    python -m tests.bench [--json] [--blocks N]

Blocks of all stages are interleaved, so a noisy machine is noisy for all of them; the median is shown with
the least and the most. A wrong answer ends it with exit code 1. Absolute times mean nothing elsewhere.
"""

import gc
import json
import sys
import time
from base64 import b64decode
from collections.abc import Callable
from statistics import median
from typing import Final

import click
import jsonpatch
import orjson
from rich.console import Console
from rich.progress import track
from rich.table import Table

from intent import Object
from tests.bench.varied import COUNT, in_turn, varied
from tests.laws.laws import naive
from webhook import review
from webhook.expand import DEFAULTS, change
from webhook.study import study

BYTES: Final = 700_000
"""How much one block reads: many calls with a small body, few with a large one."""


GOALS: Final = {
    "CREATE, mutate: expanded": 1.5,
    f"CREATE, mutate: {COUNT} others in turn": 1.5,
    "UPDATE, mutate: pinned": 0.7,
    "CREATE, mutate: nothing to do": 0.7,
    "10,000 containers, mutate": 5,
    "10,000 containers, validate": 5,
}
"""Ratios that we aim for. A benchmark prints them beside what it measured; tests do not time things."""


def engine_template() -> Object:
    """Make a pod template as large as those people run."""
    return {
        "metadata": {"labels": {"app": "deepseek"}, "annotations": {"team": "serving"}},
        "spec": {
            "containers": [
                {
                    "name": "vllm",
                    "image": "vllm/vllm-openai:v0.17.1",
                    "args": ["--model", "deepseek-ai/DeepSeek-R1", "--tensor-parallel-size", "16"],
                    "env": [{"name": f"VARIABLE_{at}", "value": "value " * 3} for at in range(24)],
                    "ports": [{"containerPort": 8000, "name": "http", "protocol": "TCP"}],
                    "resources": {"limits": {"nvidia.com/gpu": "8", "memory": "512Gi"}},
                    "volumeMounts": [{"name": f"volume-{at}", "mountPath": f"/data/{at}"} for at in range(6)],
                }
            ],
            "volumes": [{"name": f"volume-{at}", "emptyDir": {"sizeLimit": "1Gi"}} for at in range(6)],
        },
    }


def leaderworkerset() -> Object:
    """Make a LeaderWorkerSet of about 11 KB, half of it managedFields, as an API server sends it."""
    managed: Object = {f"f:field-{at}": {"f:below": {"f:deeper": {}, ".": {}}} for at in range(130)}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "deepseek-r1",
            "namespace": "serving",
            "annotations": {"fusioninfer.io/service": "deepseek-r1"},
            "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": managed}],
        },
        "spec": {
            "replicas": 2,
            "leaderWorkerTemplate": {
                "size": 2,
                "leaderTemplate": engine_template(),
                "workerTemplate": engine_template(),
            },
        },
    }


def crowded() -> Object:
    """Make a LeaderWorkerSet with ten thousand containers, the last of which is the engine."""
    live = leaderworkerset()
    template = engine_template()
    beside = [{"name": f"sidecar-{at}", "image": "envoy", "command": ["run"]} for at in range(9_999)]
    template["spec"]["containers"] = [*beside, *template["spec"]["containers"]]
    live["spec"]["leaderWorkerTemplate"] = {"size": 2, "workerTemplate": template}
    return live


def body(live: Object, old: Object | None = None) -> bytes:
    """Write the review of a CREATE, or of an UPDATE."""
    request = {"uid": "1", "operation": "UPDATE" if old else "CREATE", "object": live, "oldObject": old}
    return orjson.dumps({"apiVersion": review.VERSION, "kind": "AdmissionReview", "request": request})


def cases() -> dict[str, tuple[Callable[[bytes], review.Answer], bytes]]:
    """Name the calls of one write's life; raise if an answer is wrong."""
    live = leaderworkerset()
    plain = live | {"metadata": live["metadata"] | {"annotations": {}}}
    stored = applied(live)
    again = stored | {"spec": stored["spec"] | {"replicas": 3}}
    others = varied(live)
    for other in others:
        applied(other)
    return {
        "CREATE, mutate: expanded": (review.mutate, body(live)),
        f"CREATE, mutate: {COUNT} others in turn": (in_turn(list(map(body, others))), body(others[0])),
        "CREATE, validate: checked": (review.validate, body(stored)),
        "UPDATE, mutate: pinned": (review.mutate, body(again, stored)),
        "UPDATE, validate: checked": (review.validate, body(again, stored)),
        "CREATE, mutate: nothing to do": (review.mutate, body(plain)),
        "10,000 containers, mutate": (review.mutate, body(crowded())),
        "10,000 containers, validate": (review.validate, body(crowded())),
    }


def applied(live: Object) -> Object:
    """Apply the patch of /mutate, and hold it against the naive merge."""
    response = orjson.loads(review.mutate(body(live)).body)["response"]
    stored: Object = jsonpatch.apply_patch(live, orjson.loads(b64decode(response["patch"])))
    if stored != naive(live, change(study(live), DEFAULTS).overlay):
        sys.exit("the patch is wrong: nothing was measured")
    return stored


def block(call: Callable[[bytes], object], sent: bytes) -> float:
    """Give the CPU seconds of one call, over a block of them."""
    repeat = max(1, BYTES // len(sent))
    started = time.thread_time()
    for _ in range(repeat):
        call(sent)
    return (time.thread_time() - started) / repeat


def measured(blocks: int) -> list[dict[str, float | str]]:
    """Measure every case beside `json.loads` of its own body."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    gc.collect()
    gc.freeze()  # as the server does before its first review
    calls = cases()
    bar = Console(stderr=True)
    for _ in track(range(blocks), "measuring", disable=not bar.is_terminal, console=bar):
        for name, (door, sent) in calls.items():
            ours, plain = block(door, sent), block(json.loads, sent)
            rows.setdefault(name, []).append((ours / plain, ours, plain))
    return [_row(name, len(calls[name][1]), found) for name, found in rows.items()]


def _row(name: str, size: int, found: list[tuple[float, float, float]]) -> dict[str, float | str]:
    ratios = sorted(ratio for ratio, _, _ in found)
    return {
        "case": name,
        "body_bytes": size,
        "ratio": round(median(ratios), 2),
        "ratio_min": round(ratios[0], 2),
        "ratio_max": round(ratios[-1], 2),
        "goal": GOALS.get(name, ""),
        "microseconds": round(median(ours for _, ours, _ in found) * 1e6, 1),
        "json_loads_microseconds": round(median(plain for _, _, plain in found) * 1e6, 1),
    }


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--blocks", default=40, show_default=True)
def main(*, as_json: bool, blocks: int) -> None:
    """Print the table."""
    rows = measured(blocks)
    if as_json:
        click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        return
    table = Table(
        "case", "body", "ours / json.loads", "goal", "min to max", "CPU µs", title="In process, CPU"
    )
    for row in rows:
        spread = f"{row['ratio_min']} to {row['ratio_max']}"
        table.add_row(
            *map(
                str, (row["case"], row["body_bytes"], row["ratio"], row["goal"], spread, row["microseconds"])
            )
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
