"""Rows are found by their keys, and an event has as many calls however many rows have a key in common."""

import gc
import time
from asyncio import events
from collections import Counter
from collections.abc import Callable
from types import CodeType
from typing import Any, Final

import pytest

from intent import Object
from intent.annotations import SERVICE
from sync.controller import Controller
from sync.kinds import AUTOSCALER, LWS, WATCHED, Kind
from sync.metrics import ControllerMetrics
from sync.watch.cache import Cache
from sync.write import Writer
from tests.builders.counted import counted
from tests.sync.conftest import Background, eventually
from tests.sync.running.test_disaggregatedset import NEW, of_revision
from tests.sync.samples import KEY, SETTINGS, lws, take

FEW, MANY = 10, 1_000


def of_service(number: int) -> Object:
    """Return one of many LeaderWorkerSets with the label of one service."""
    return lws(f"p{number}")


def revised(number: int) -> Object:
    """Return one of many of one revision: they name one PodGroup."""
    made = of_revision(NEW, "prefiller")
    made["metadata"]["name"] = f"p{number}"
    return made


def ejected(number: int) -> Object:
    """Return one of many whose templates name a PodGroup, without our annotations."""
    made = lws(f"p{number}")
    del made["metadata"]["annotations"]
    return made


def of_another_service(number: int) -> Object:
    """Return one of many that name one PodGroup, each with the label of a service of its own."""
    made = ejected(number)
    made["metadata"]["labels"][SERVICE] = f"s{number}"
    return made


def autoscaler(number: int) -> Object:
    """Return one of many autoscalers of one LeaderWorkerSet, each with a label of its own."""
    metadata = {"namespace": KEY[0], "name": f"a{number}", "labels": {SERVICE: f"s{number}"}}
    spec = {"scaleTargetRef": {"apiVersion": LWS.resource.api_version, "kind": LWS.kind, "name": "p"}}
    return {"apiVersion": "autoscaling/v2", "kind": AUTOSCALER.kind, "metadata": metadata, "spec": spec}


RELATED: Final[dict[str, tuple[Kind[Any], Callable[[int], Object]]]] = {
    "members of a service": (LWS, of_service),
    "members of a revision": (LWS, revised),
    "ejected from a gang": (LWS, ejected),
    "ejected from a gang, of many services": (LWS, of_another_service),
    "autoscalers of an LWS": (AUTOSCALER, autoscaler),
}


def without_client() -> Controller:
    """Return a controller that sends no requests."""
    caches = {one.kind: Cache(one) for one in WATCHED}
    measured = ControllerMetrics()
    client: Any = None
    return Controller(SETTINGS, measured, caches, Writer(client, measured, lambda: 1.0, caches))


def function(code: CodeType) -> str:
    return f"{code.co_filename}: {code.co_qualname}"


def calls_of_an_event(kind: Kind[Any], build: Callable[[int], Object], among: int) -> Counter[str]:
    """Count the calls that one event causes, among so many objects."""
    controller = without_client()
    caches = controller.caches
    cache = caches[kind.kind]
    for number in range(among):
        take(cache, build(number))
    for one in caches.values():
        one.changed = controller.changed
    first, second = build(0), build(0)
    first["spec"]["changed"], second["spec"]["changed"] = 1, 2
    take(cache, first)  # functions remember some results
    with counted(function) as calls:
        take(cache, second)
    return calls


@pytest.mark.parametrize("relation", RELATED)
def test_an_event_costs_the_same_among_few_and_many(relation: str) -> None:
    assert calls_of_an_event(*RELATED[relation], FEW) == calls_of_an_event(*RELATED[relation], MANY)


async def test_a_resync_of_thousands_of_services_lets_other_tasks_run(
    background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Lease is renewed by one of them."""
    controller, run, took = without_client(), events.Handle._run, list[float]()  # noqa: SLF001 - what asyncio calls
    for number in range(2 * MANY):
        take(controller.caches[LWS.kind], of_another_service(number))

    def measured(self: events.Handle) -> None:
        since = time.thread_time()
        run(self)
        took.append(time.thread_time() - since)

    monkeypatch.setattr(events.Handle, "_run", measured)
    background(controller._follow_resyncs())  # noqa: SLF001 - one of the tasks of `run`
    gc.collect()
    gc.disable()  # a collection of all tests' objects takes longer than the resync
    try:
        controller.resync()
        await eventually(lambda: controller.queue.depth() >= 2 * MANY)
    finally:
        gc.enable()

    assert max(took) < sum(took) / 4
