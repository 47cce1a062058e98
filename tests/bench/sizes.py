"""Cost against size: whatever an object has much of, it must cost no more than reading it does.

Each kind of weight is added to one small object until its review has 10 KB, 100 KB and 1 MB. What counts is
how the ratio to `json.loads` at 1 MB stands to that at 10 KB. Over a budget (docs/webhook.md) it is the cost
of counting and refusing.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Final

from intent import Object
from tests.bench.report import GROWTH, Row, expect, row
from tests.bench.run import Run
from tests.bench.stages import block, body, patched
from webhook import review
from webhook.expand import DEFAULTS, change
from webhook.state import state

BYTES: Final = 400_000
"""How much one block reads."""
Add = Callable[[Object, int], None]
"""Puts so many of something on an object."""
PATHS: Final = ("mutate", "validate")
MOST_EXPENSIVE: Final = "the most expensive at 1 MB"
LINE: Final = "# what the next line does, and why it must stand before the one after it\n"


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


def _pod(live: Object) -> Object:
    pod: Object = live["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    return pod


def _engine(live: Object) -> Object:
    engine: Object = _pod(live)["containers"][0]
    return engine


def _annotations(live: Object, count: int) -> None:
    live["metadata"]["annotations"] |= {f"example.com/note-{at}": f"note {at}" for at in range(count)}


def _unknown(live: Object, count: int) -> None:
    live["metadata"]["annotations"] |= {f"fusioninfer.io/rolls-{at}": f"{at}" for at in range(count)}


def _parts(live: Object, count: int) -> None:
    live["metadata"]["annotations"]["fusioninfer.io/skip"] = ",".join(f"part-{at}" for at in range(count))


def _labels(live: Object, count: int) -> None:
    template = live["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    template["metadata"]["labels"] = {f"example.com/label-{at}": f"{at}" for at in range(count)}


def _managed(live: Object, count: int) -> None:
    fields: Object = {f"f:field-{at}": {"f:below": {"f:deeper": {}, ".": {}}} for at in range(count)}
    live["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": fields}]


def _containers(live: Object, count: int) -> None:
    beside = [{"name": f"sidecar-{at}", "image": "envoy", "args": ["run"]} for at in range(count)]
    _pod(live)["containers"] += beside


def _init_containers(live: Object, count: int) -> None:
    _pod(live)["initContainers"] = [{"name": f"init-{at}", "image": "busybox"} for at in range(count)]


def _env(live: Object, count: int) -> None:
    _engine(live)["env"] = [{"name": f"VARIABLE_{at}", "value": f"value {at}"} for at in range(count)]


def _ports(live: Object, count: int) -> None:
    _engine(live)["ports"] = [{"name": f"p-{at}", "containerPort": 20_000 + at} for at in range(count)]


def _volumes(live: Object, count: int) -> None:
    _pod(live)["volumes"] = [{"name": f"volume-{at}", "emptyDir": {}} for at in range(count)]
    _engine(live)["volumeMounts"] = [{"name": f"volume-{at}", "mountPath": f"/{at}"} for at in range(count)]


def _arguments(live: Object, count: int) -> None:
    _engine(live)["args"] += [word for at in range(count) for word in (f"--option-{at}", f"value-{at}")]


def _known_arguments(live: Object, count: int) -> None:
    _engine(live)["args"] += [word for at in range(count) for word in ("--max-model-len", f"{at}")]


def _comments(live: Object, count: int) -> None:
    script = LINE * count + "exec vllm serve deepseek-ai/DeepSeek-R1 --tensor-parallel-size 16\n"
    _engine(live).update(command=["/bin/bash", "-c"], args=[script])


def _commands(live: Object, count: int) -> None:
    script = "export NAME_OF_SOMETHING=its-value && echo done\n" * count + "exec vllm serve org/M\n"
    _engine(live).update(command=["/bin/bash", "-c"], args=[script])


def _long_value(live: Object, count: int) -> None:
    _engine(live)["env"] = [{"name": "CONFIGURATION", "value": "word " * count}]


WEIGHTS: Final[Mapping[str, Add]] = {
    "annotations of others": _annotations,
    "unknown annotations of ours": _unknown,
    "unknown parts to skip": _parts,
    "labels": _labels,
    "managedFields": _managed,
    "containers": _containers,
    "init containers": _init_containers,
    "env": _env,
    "ports": _ports,
    "volumes and mounts": _volumes,
    "arguments": _arguments,
    "known arguments": _known_arguments,
    "comments in a script": _comments,
    "commands in a script": _commands,
    "one long value": _long_value,
}


def weighted(add: Add, size: int) -> Object:
    """Add to an object until its review has about a given size."""
    live = small()
    empty = len(body(live))
    add(live, 100)
    each = (len(body(live)) - empty) / 100
    live = small()
    add(live, max(1, round((size - empty) / each)))
    return live


def stored(live: Object, what: str) -> Object:
    """Return what is stored of an object after /mutate, held against the engine's result."""
    answer = review.mutate(body(live))
    if answer.outcome == "unchanged":
        return live
    found = patched(live, answer)
    expect(found, change(live, state(live), DEFAULTS), what)
    return found


def measure(run: Run, weights: Mapping[str, Add] = WEIGHTS) -> Iterator[Row]:
    """Measure both calls of a CREATE for every kind of weight, in every size."""
    found: list[tuple[float, str]] = []
    for name, add in weights.items():
        ratios = _ratios(name, add, run)
        found += [(of[-1], f"{name}, {path}") for path, of in ratios.items()]
        yield _row(name, ratios)
    most, which = max(found)
    yield row(MOST_EXPENSIVE, "x", [most], which=which)


def _ratios(name: str, add: Add, run: Run) -> dict[str, list[float]]:
    """Return what both calls cost beside `json.loads` of their bodies, from the least size to the largest."""
    sizes = run.effort.sizes
    calls = {(path, size): call for size in sizes for path, call in _calls(name, add, size).items()}
    found: dict[tuple[str, int], list[float]] = {which: [] for which in calls}
    for _ in run.rounds(run.effort.blocks_of_size, name):
        for which, (answer, sent) in calls.items():
            found[which].append(block(answer, sent, BYTES) / block(json.loads, sent, BYTES))
    return {path: [median(found[path, size]) for size in sizes] for path in PATHS}


def _calls(name: str, add: Add, size: int) -> dict[str, tuple[Callable[[bytes], object], bytes]]:
    live = weighted(add, size)
    return {"mutate": (review.mutate, body(live)), "validate": (review.validate, body(stored(live, name)))}


def _row(name: str, ratios: Mapping[str, list[float]]) -> Row:
    """Report by how much the ratio grows, of the call of which it grows more."""
    growth = max(of[-1] / of[0] for of in ratios.values())
    told = {path: " > ".join(f"{ratio:.2g}" for ratio in of) for path, of in ratios.items()}
    return Row(name, growth, "x", beside=told, goal=GROWTH)
