"""The calls of one write's life, in process, beside `json.loads` of the same body."""

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Final

import jsonpatch
import orjson

from intent import Object
from tests.bench.report import Row, expect, row
from tests.bench.run import Run
from tests.bench.varied import COUNT, in_turn, varied
from webhook import review
from webhook.expand import DEFAULTS, change
from webhook.review import VERSION
from webhook.state import state

BYTES: Final = 700_000
"""How much one block reads: many calls with a small body, few with a large one."""
EXPANDED: Final = "CREATE, mutate: expanded"
OUTCOMES: Final[Mapping[str, str]] = {
    EXPANDED: "patched",
    f"CREATE, mutate: {COUNT} others in turn": "patched",
    "CREATE, validate: checked": "allowed",
    "UPDATE, mutate: pinned": "unchanged",
    "UPDATE, validate: checked": "allowed",
    "CREATE, mutate: nothing to do": "unchanged",
    "10,000 containers, mutate": "unchanged",
    "10,000 containers, validate": "denied",
}
"""The expected outcome of each call; the last object was never expanded."""


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


def small() -> Object:
    """Make an object of a few hundred bytes that is expanded in full."""
    engine = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.17.1",
        "args": ["--model", "deepseek-ai/DeepSeek-R1", "--tensor-parallel-size", "16"],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    template = {"metadata": {}, "spec": {"containers": [engine]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "r1", "annotations": {"fusioninfer.io/service": "r1"}},
        "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": template}},
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
    """Make a LeaderWorkerSet with ten thousand containers, the last of which is the engine: far too many."""
    live = leaderworkerset()
    template = engine_template()
    beside = [{"name": f"sidecar-{at}", "image": "envoy", "command": ["run"]} for at in range(9_999)]
    template["spec"]["containers"] = [*beside, *template["spec"]["containers"]]
    live["spec"]["leaderWorkerTemplate"] = {"size": 2, "workerTemplate": template}
    return live


def body(live: Object, old: Object | None = None) -> bytes:
    """Write the review of a CREATE, or of an UPDATE."""
    kind = "UPDATE" if old else "CREATE"
    request = {"uid": "1", "operation": kind, "namespace": "serving", "object": live, "oldObject": old}
    return orjson.dumps({"apiVersion": VERSION, "kind": "AdmissionReview", "request": request})


def cases() -> dict[str, tuple[Callable[[bytes], review.AdmissionAnswer], bytes]]:
    """Name the calls of one write's life; raise if an answer is wrong."""
    live = leaderworkerset()
    plain = live | {"metadata": live["metadata"] | {"annotations": {}}}
    stored = patched(live, review.mutate(body(live)))
    again = stored | {"spec": stored["spec"] | {"replicas": 3}}
    others = [body(other) for other in varied(live)]
    return {
        "CREATE, mutate: expanded": (review.mutate, body(live)),
        f"CREATE, mutate: {COUNT} others in turn": (in_turn(others), others[0]),
        "CREATE, validate: checked": (review.validate, body(stored)),
        "UPDATE, mutate: pinned": (review.mutate, body(again, stored)),
        "UPDATE, validate: checked": (review.validate, body(again, stored)),
        "CREATE, mutate: nothing to do": (review.mutate, body(plain)),
        "10,000 containers, mutate": (review.mutate, body(crowded())),
        "10,000 containers, validate": (review.validate, body(crowded())),
    }


def check(calls: Mapping[str, tuple[Callable[[bytes], review.AdmissionAnswer], bytes]]) -> None:
    """Hold every answer against what it must be; a patch is applied, and held against the engine's result."""
    for name, (call, sent) in calls.items():
        answer = call(sent)
        expect(answer.outcome, OUTCOMES[name], name)
        if answer.outcome == "patched":
            live = orjson.loads(sent)["request"]["object"]
            expect(patched(live, answer), change(live, state(live), DEFAULTS), name)


def operations(answer: review.AdmissionAnswer) -> list[Object]:
    """Read the patch of an answer."""
    read: list[Object] = orjson.loads(b64decode(orjson.loads(answer.body)["response"]["patch"]))
    return read


def patched(live: Object, answer: review.AdmissionAnswer) -> Object:
    """Apply the patch of an answer."""
    applied: Object = jsonpatch.apply_patch(live, operations(answer))
    return applied


def block(call: Callable[[bytes], object], sent: bytes, size: int = BYTES) -> float:
    """Return the CPU seconds of one call, over a block of them that reads so many bytes."""
    repeat = max(1, size // len(sent))
    started = time.thread_time()
    for _ in range(repeat):
        call(sent)
    return (time.thread_time() - started) / repeat


def measure(run: Run) -> Iterator[Row]:
    """Measure every call, all of them in each round: a noisy machine is noisy for all."""
    calls = cases()
    check(calls)
    for other in varied(leaderworkerset()):
        check({EXPANDED: (review.mutate, body(other))})
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in run.rounds(run.effort.blocks, "stages"):
        for name, (call, sent) in calls.items():
            found[name].append((block(call, sent), block(json.loads, sent)))
    for name, costs in found.items():
        yield row(name, "x", [ours / plain for ours, plain in costs], **beside(costs, calls[name][1]))


def beside(costs: list[tuple[float, float]], sent: bytes) -> dict[str, float]:
    """Return the absolute figures of a row: what ours and `json.loads` cost, and the size of the body."""
    ours, plain = (median(cost) * 1e6 for cost in zip(*costs, strict=True))
    return {"us": ours, "us_of_json": plain, "bytes": len(sent)}
