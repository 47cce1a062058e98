"""The limit up to which an object is read."""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from intent import Object
from intent.budget import ARGUMENTS, CHARACTERS, CONTAINERS, ITEMS, KEYS
from intent.inferenceservice.read import read
from sync.kinds import INFERENCE_SERVICE, LWS
from sync.observed.inferenceservice import PARSED
from sync.watch.cache import Cache
from tests.builders.isvc import isvc
from tests.sync.samples import KEY, inference_service, lws, take

SCRIPT = "vllm serve m " + "--x 'y' " * (CHARACTERS.most // 2)
LARGE: dict[str, list[Object]] = {
    CHARACTERS.name: [{"name": "vllm", "command": ["sh", "-c"], "args": [SCRIPT]}],
    ARGUMENTS.name: [{"name": "vllm", "args": ["--a=1"] * (4 * ARGUMENTS.most)}],
    CONTAINERS.name: [{"name": f"c{at}", "args": ["vllm"]} for at in range(4 * CONTAINERS.most)],
    ITEMS.name: [{"name": "vllm", "volumeMounts": [{}] * (4 * ITEMS.most)}],
}
MOST = 200
"""How much longer than parsing its JSON an object may take, on a busy machine."""


def made(containers: list[Object]) -> Object:
    """Return a LeaderWorkerSet with containers."""
    found = lws("p")
    found["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"] = containers
    return found


@pytest.mark.parametrize("name", LARGE)
def test_an_object_that_is_too_large_is_kept_by_name_only(name: str) -> None:
    cache = Cache(LWS)

    take(cache, made(LARGE[name]))

    (why,) = [row.why for row in cache.unreadable_of(KEY)]
    assert f" {name}, and the limit is " in why


@pytest.mark.parametrize("name", LARGE)
def test_refusing_it_costs_little_more_than_parsing_its_json(name: str) -> None:
    obj = made(LARGE[name])
    text = orjson.dumps(obj)

    assert best(lambda: take(Cache(LWS), obj)) < MOST * best(lambda: orjson.loads(text))


def test_a_long_command_is_read() -> None:
    cache = Cache(LWS)

    take(cache, made([{"name": "vllm", "command": ["vllm", "serve"], "args": ["m", *["--a=1"] * 500]}]))

    assert [row.name for row in cache.of(KEY)] == ["p"]


def test_an_inferenceservice_that_is_too_large_is_not_read() -> None:
    """Thousands of unknown annotations, each with a suggestion of a known one, would be slow to report."""
    found = inference_service()
    found["metadata"]["annotations"] = {f"fusioninfer.io/x{at}": "" for at in range(4 * KEYS.most)}

    row = INFERENCE_SERVICE.projected(found)

    assert (row.value, [one.code for one in row.errors]) == (None, ["FI904"])


def test_an_inferenceservice_is_kept_in_no_more_memory_than_its_json() -> None:
    """Hundreds of these would end the process, if their templates were kept as parsed."""
    texts = [orjson.dumps(full(number)) for number in range(3 * PARSED)]
    rows = [INFERENCE_SERVICE.projected(orjson.loads(text)) for text in texts[:PARSED]]
    tracemalloc.start()
    try:
        for row in rows:
            assert row.value is not None
        before, _ = tracemalloc.get_traced_memory()
        rows += [INFERENCE_SERVICE.projected(orjson.loads(text)) for text in texts[PARSED:]]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert after - before < sum(map(len, texts[PARSED:]))


def test_what_an_inferenceservice_asks_for_is_what_was_read_of_it() -> None:
    row = INFERENCE_SERVICE.projected(full(1))

    assert (row.value, ()) == read(full(1))


def full(number: int) -> Object:
    """Return an InferenceService of many small fields."""
    found = isvc(name=f"x{number}")
    found["metadata"] |= {"namespace": "team-a", "uid": f"u{number}"}
    found["spec"]["roles"][0]["template"]["spec"]["tolerations"] = [{"key": f"k{at}"} for at in range(4_000)]
    return found


def best(work: Callable[[], Any]) -> float:
    """Return the seconds of the fastest of five runs."""
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)
