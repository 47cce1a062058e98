"""An InferenceService over the budget that was stored past admission: its objects stay as they are."""

import asyncio
import copy
from typing import Any

import pytest

from intent.budget import BYTES
from kube.pool import BytePool
from sync.kinds import LWS, WATCHED, Kind
from sync.watch.cache import ROW_LIMIT, Cache
from tests.sync.conftest import eventually, quiet
from tests.sync.crowd import large
from tests.sync.fake_api import Api
from tests.sync.samples import lws
from tests.sync.served import PREFILL, SERVICE, change, condition


@pytest.mark.usefixtures("served")
async def test_its_members_routes_and_autoscalers_are_neither_changed_nor_deleted(api: Api) -> None:
    def kept() -> dict[str, object]:
        return {path: one for path, one in api.objects.items() if path != SERVICE and "/events/" not in path}

    before = copy.deepcopy(kept())
    found = copy.deepcopy(api.objects[SERVICE])
    found["metadata"] |= {"generation": 2, "annotations": {"fusioninfer.io/inject": "disabled"}}
    found["spec"]["roles"] = found["spec"]["roles"][:1]
    found["spec"]["roles"][0]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "A", "value": "x" * BYTES.most}
    ]

    api.put(SERVICE, found)
    await eventually(lambda: condition(api, "Initialized").get("observedGeneration") == 2)
    await quiet(3)

    assert kept() == before
    assert " bytes, and the limit is 262144" in condition(api, "Initialized")["message"]
    assert any("(FI904" in event["message"] for event in api.findings())


@pytest.mark.usefixtures("served")
async def test_what_is_too_large_to_be_read_is_not_taken_for_absent(api: Api) -> None:
    """A LeaderWorkerSet that became so leaves the whole service alone, and says so."""
    paths = set(api.objects)

    change(api, PREFILL, spec={"leaderWorkerTemplate": {"workerTemplate": {"x": "x" * 3 * BYTES.most}}})
    await eventually(lambda: any("(FI881" in event["message"] for event in api.findings()))
    await quiet(2)

    assert paths <= set(api.objects)


@pytest.mark.parametrize("kind", WATCHED, ids=lambda kind: kind.kind)
def test_a_row_of_a_large_object_is_small(kind: Kind[Any]) -> None:
    for body in large(kind):
        cache: Cache[Any] = Cache(kind)
        row = asyncio.run(cache.read(body))
        assert row is not None
        cache.store(row)

        assert sum(cache.sizes.values()) <= ROW_LIMIT / 2
        assert len(cache.rows) + len(cache.unreadable) == 1


def test_a_namespace_that_has_its_share_keeps_only_metadata_of_more_and_others_have_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sync.watch.cache.ROW_LIMIT", 20_000)
    cache: Cache[Any] = Cache(LWS, space=BytePool(200_000))

    def store(namespace: str, count: int) -> None:
        for number in range(count):
            one = lws(f"s{number}")
            one["metadata"]["namespace"] = namespace
            cache.store(LWS.projected(one))

    store("a", 60)
    store("b", 5)

    assert 0 < len([name for name in cache.rows if name[0] == "a"]) < 60
    assert len([name for name in cache.rows if name[0] == "b"]) == 5
    assert {one.why.partition(";")[0] for one in cache.unreadable.values()} == {
        "the objects of its namespace take too much of the controller's memory"
    }
    assert not cache.has_room_again()

    for name in [name for name in cache.rows if name[0] == "a"]:
        cache.drop(name)
    assert cache.has_room_again()
    store("a", 10)
    for name in [*cache.rows, *cache.unreadable]:
        cache.drop(name)

    assert not cache.has_room_again()
    assert (cache.space.total, cache.sizes) == (0, {})
