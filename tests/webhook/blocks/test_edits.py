"""Edits of the blocks of a stored object: which of them change what its pods are made of, and into what."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from intent import Object
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import read
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import container, lws, put, template

SIZE: Final = 2
IMAGE: Final = "vllm/vllm-openai:v0.20.2"
ENGINE: Final = template(container(args=["--max-model-len", "4096"], image=IMAGE))
SIZED: Final = template(
    container(args=["--tensor-parallel-size", "8", "--pipeline-parallel-size", "2"], image=IMAGE)
)
BLOCKS: Final = {"model": "hf://org/M", "parallelism": "tensor=8,pipeline=2", "priority": "Critical"}
ADAPTED: Final = {"lora": "sql=hf://org/sql"}


class Edit(NamedTuple):
    """The blocks before and after, whether that concerns the pods, and another template in the same write."""

    before: dict[str, str]
    after: dict[str, str]
    restarts: bool = True
    template: Object = ENGINE


def _without(name: str) -> dict[str, str]:
    return {key: value for key, value in BLOCKS.items() if key != name}


EDITS: Final = {
    "model": Edit(BLOCKS, {**BLOCKS, "model": "s3://bucket/m"}),
    "model-name": Edit(BLOCKS, {**BLOCKS, "model-name": "mine"}),
    "lora-added": Edit(BLOCKS, BLOCKS | ADAPTED),
    "lora-removed": Edit(BLOCKS | ADAPTED, BLOCKS),
    "parallelism-changed": Edit(BLOCKS, {**BLOCKS, "parallelism": "tensor=4,pipeline=4"}),
    "parallelism-removed": Edit(BLOCKS, _without("parallelism"), template=SIZED),
    "priority-changed": Edit(BLOCKS, {**BLOCKS, "priority": "Sheddable"}, restarts=False),
    "priority-removed": Edit(BLOCKS, _without("priority"), restarts=False),
}


def annotated(blocks: dict[str, str], pods: Object) -> Object:
    """Return a LeaderWorkerSet with blocks in its annotations."""
    notes: dict[str, Any] = {key.replace("-", "_"): value for key, value in blocks.items()}
    return lws(SIZE, pods, service="x", strategy="prefix-cache", **notes)


def rendered(blocks: dict[str, str], pods: Object) -> Object:
    """Return the LeaderWorkerSet of an InferenceService with the same blocks in its spec."""
    sizes = [pair.split("=") for pair in filter(None, blocks.get("parallelism", "").split(","))]
    sized = {"parallelism": {name: int(size) for name, size in sizes}, "multinode": None} if sizes else {}
    spec: Object = {"model": {"uri": blocks["model"]}}
    spec["model"] |= {"name": blocks["model-name"]} if "model-name" in blocks else {}
    spec |= {"priority": blocks["priority"]} if "priority" in blocks else {}
    spec |= {"lora": {"adapters": [{"name": "sql", "uri": "hf://org/sql"}]}} if "lora" in blocks else {}
    found, _ = read(isvc(worker(template=pods, **sized), router(), name="x", **spec))
    assert found is not None
    (member,) = leader_worker_sets(found)
    return member


@pytest.mark.parametrize("make", [annotated, rendered])
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_the_pods_that_it_concerns_as_if_they_were_new(
    name: str, make: Callable[[dict[str, str], Object], Object]
) -> None:
    edit = EDITS[name]
    stored, file = put(make(edit.before, ENGINE)), make(edit.after, edit.template)

    edited = put(file, stored)

    assert edited["spec"] == put(file)["spec"]
    assert (edited["spec"] != stored["spec"]) == edit.restarts
