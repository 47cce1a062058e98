"""What a cache stores, and which services a change concerns."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from intent import Object
from intent.annotations import SERVICE
from intent.service.member import ejected
from sync.kinds import HTTP_ROUTE, LWS
from sync.observed.cached import UnreadableObject
from sync.observed.index_keys import IndexKey, Key, leader_worker_set_keys
from sync.observed.routes import project_http_route
from sync.watch.availability import ENOUGH
from sync.watch.cache import DELETIONS, Cache
from tests.sync.samples import KEY, hold, lws, take

OWNER = {"kind": "InferenceService", "name": "r1", "uid": "uid-r1", "controller": True}
PLACE = IndexKey("LeaderWorkerSet", KEY[0], "p")
PICKER = IndexKey("LeaderWorkerSet", KEY[0], "r1-epp")
ON_LEADERS = IndexKey("LeaderWorkerSet", KEY[0], "r1-api")


def row(version: int = 1, owners: tuple[Object, ...] = (), ready: int = 0, **spec: Any) -> Any:
    """Project one version of a LeaderWorkerSet."""
    obj = lws("p", **spec) | {"status": {"observedGeneration": ready, "readyReplicas": ready}}
    obj["metadata"] |= {"resourceVersion": str(version), "ownerReferences": list(owners)}
    return LWS.project(obj)


def known(*rows: Any) -> tuple[Cache[Any], list[Key]]:
    """Return a cache with these rows, and the list of keys that later changes concern."""
    cache, woken = Cache(LWS), list[Key]()
    for one in rows:
        cache.put(one)
    cache.changed = woken.append
    return cache, woken


async def listed(cache: Cache[Any], *rows: Any) -> None:
    """Have a cache hold the result of a list."""
    hold(cache, *rows)
    await cache.keep_only({(one.namespace, one.name) for one in rows})


def test_a_change_concerns_the_service_and_its_index_keys() -> None:
    cache, woken = known(row(1))

    cache.put(row(2, replicas=3))

    assert set(woken) == {KEY, PLACE, PICKER, ON_LEADERS}


@pytest.mark.parametrize(("version", "is_kept"), [(4, True), (5, False), (6, False)])
def test_a_deletion_that_is_older_than_the_row_removes_nothing(version: int, *, is_kept: bool) -> None:
    cache, woken = known(row(5))

    cache.lose((KEY[0], "p"), version)

    assert (bool(cache.of(KEY)), KEY in woken) == (is_kept, not is_kept)


@pytest.mark.parametrize(("version", "is_stored"), [(4, False), (6, True)])
def test_an_answer_that_is_older_than_the_deletion_stores_nothing(version: int, *, is_stored: bool) -> None:
    """The garbage collector may be faster than the answer to the write; the service is reconciled again."""
    cache, woken = known()
    cache.lose((KEY[0], "p"), 5)

    cache.put(row(version))

    assert (bool(cache.of(KEY)), KEY in woken) == (is_stored, True)


def test_as_many_deletions_are_remembered_as_answers_may_be_late() -> None:
    cache, _ = known()

    for number in range(DELETIONS + 1):
        cache.lose((KEY[0], f"p-{number}"), 5)

    assert (len(cache.deleted), (KEY[0], "p-0") in cache.deleted) == (DELETIONS, False)


@pytest.mark.parametrize("owners", [(), (OWNER,)], ids=["uncontrolled", "an InferenceService's"])
def test_the_status_of_an_lws_is_a_change_if_an_inference_service_controls_it(
    owners: tuple[Object, ...],
) -> None:
    cache, woken = known(row(1, owners))

    cache.put(row(2, owners, ready=1))

    assert (KEY in woken, bool(woken)) == (bool(owners), bool(owners))


@pytest.mark.parametrize("before", [(), (row(1, replicas=3),)], ids=["changed", "equal"])
def test_an_older_version_that_comes_late_is_ignored(before: tuple[Any, ...]) -> None:
    cache, woken = known(*before, row(7, replicas=3))

    cache.put(row(6))

    assert (woken, cache.of(KEY)) == ([], (row(7, replicas=3),))


async def test_a_list_counts_whatever_its_versions_are() -> None:
    """A cluster that was restored from a backup counts from an earlier version."""
    cache, _ = known(row(7, replicas=3))

    await listed(cache, row(6))

    assert cache.of(KEY) == (row(6),)


async def test_objects_missing_from_a_list_are_dropped() -> None:
    cache, woken = known(row(7))

    await listed(cache)

    assert (set(woken), cache.of(KEY)) == ({KEY, PLACE, PICKER, ON_LEADERS}, ())


# --- keys that stand twice --------------------------------------------------------------------------


def parents(*names: str) -> Object:
    """Return an HTTPRoute with these Gateways as parents."""
    return {
        "metadata": {"namespace": "team-a", "name": "r1-httproute", "labels": {SERVICE: "r1"}},
        "spec": {"parentRefs": [{"name": name, "sectionName": str(at)} for at, name in enumerate(names)]},
    }


def test_two_references_to_one_gateway_have_one_index_key() -> None:
    assert project_http_route(parents("g", "g", "h")).index_keys == tuple(
        IndexKey("Gateway", "team-a", name) for name in "gh"
    )


def test_an_lws_with_the_name_of_its_endpoint_picker_has_no_key_twice() -> None:
    obj = lws("r1-epp")

    assert leader_worker_set_keys(obj, ejected(obj)) == (PICKER, ON_LEADERS)


def test_a_duplicate_key_of_a_row_does_no_harm() -> None:
    """Whatever the projection of a kind returns."""
    woken = list[Key]()
    cache = Cache(HTTP_ROUTE, woken.append)

    cache.put(replace(HTTP_ROUTE.projected(parents("g")), index_keys=(KEY, KEY, PLACE)))
    cache.put(replace(HTTP_ROUTE.projected(parents("h")), index_keys=(KEY, KEY, PLACE)))
    cache.drop(("team-a", "r1-httproute"))

    assert (set(woken), cache.of(KEY), cache.by_key) == ({KEY, PLACE}, (), {})


# --- unreadable objects -----------------------------------------------------------------------------


def fails(obj: Object) -> Any:
    """Project as a kind that cannot read one object."""
    if obj["metadata"]["name"] == "p":
        raise RecursionError
    return LWS.project(obj)


def test_an_object_that_cannot_be_projected_affects_itself_only(caplog: pytest.LogCaptureFixture) -> None:
    cache = Cache(replace(LWS, project=fails))

    for _ in range(3):
        for one in (lws("p"), lws("q")):
            take(cache, one)

    assert [row.name for row in cache.of(KEY)] == ["q"]
    assert [(row.name, row.why) for row in cache.unreadable_of(KEY)] == [("p", "RecursionError: ")]
    assert [record.message for record in caplog.records] == ["object cannot be read"]


async def test_an_object_that_is_not_utf_8_has_a_row_of_its_metadata() -> None:
    row = await Cache(LWS).read(b'{"metadata": {"name": "p", "resourceVersion": "3"}, "x": "\xff"}')

    assert isinstance(row, UnreadableObject)
    assert (row.name, row.resource_version, row.why.partition(":")[0]) == ("p", 3, "JSONDecodeError")


def test_an_object_that_becomes_readable_has_a_row_again() -> None:
    cache, woken = known(row(3))
    cache.kind = replace(LWS, project=fails)

    take(cache, lws("p") | {"metadata": lws("p")["metadata"] | {"resourceVersion": "4"}})
    unread = (cache.of(KEY), [one.name for one in cache.unreadable_of(KEY)], set(woken))
    cache.put(row(5))

    assert unread == ((), ["p"], {KEY, (KEY[0], "p"), PLACE, PICKER, ON_LEADERS})
    assert (cache.of(KEY), cache.unreadable_of(KEY)) == ((row(5),), ())


# --- a kind that cannot be listed -------------------------------------------------------------------


@pytest.mark.parametrize("denied", [[False] * 9, [True, False] * 5, [True, True]])
async def test_failed_lists_empty_no_cache(denied: list[bool]) -> None:
    cache, woken = known(row(7))

    for one in denied:
        await cache.fail("404", denied=one)

    assert (cache.availability.scopes[""].absent, cache.of(KEY), woken) == (False, (row(7),), [])


async def test_a_kind_that_discovery_denies_repeatedly_is_absent() -> None:
    cache, _ = known(row(7))

    for _ in range(ENOUGH):
        await cache.fail("404", denied=True)

    assert (
        cache.availability.scopes[""].absent,
        cache.of(KEY),
        cache.availability.trouble,
        cache.availability.settled.is_set(),
    ) == (True, (), "", True)


async def test_a_kind_is_unavailable_from_the_third_failure_to_the_next_list() -> None:
    cache, recovered = Cache(LWS), list[str]()
    await listed(cache, row(7))
    cache.availability.recovered = lambda: recovered.append("again")

    said = []
    for _ in range(ENOUGH):
        said.append(cache.availability.trouble)
        await cache.fail("403 Forbidden", denied=False)
    said.append(cache.availability.trouble)
    await listed(cache, row(8))

    assert (said, cache.availability.trouble, recovered) == ([""] * ENOUGH + ["403 Forbidden"], "", ["again"])


async def test_other_tasks_run_while_the_objects_of_a_kind_are_removed() -> None:
    """One that comes meanwhile stays."""
    cache = Cache(LWS)
    hold(cache, *(replace(row(), name=f"p{at}") for at in range(1000)))

    removing = asyncio.create_task(cache.keep_only(frozenset()))
    await asyncio.sleep(0)
    left = len(cache.rows)
    cache.put(replace(row(9), name=max(cache.rows)[1]))
    await removing

    assert (0 < left < 1000, len(cache.rows)) == (True, 1)
