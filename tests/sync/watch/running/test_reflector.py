"""A cache equals the API server, whatever happens in between."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from intent import Object
from kube import client as client_module
from kube.client import Client
from kube.pool import BytePool
from sync.kinds import DEPLOYMENT, LWS, OUTPUTS, Kind
from sync.watch.availability import EVERYWHERE
from sync.watch.cache import Cache
from sync.watch.reflector import reflect
from tests.sync.conftest import Background, eventually
from tests.sync.fake_api import Api, status
from tests.sync.samples import lws

CONFIG_MAP: Kind[Any] = OUTPUTS["ConfigMap"]
LARGEST = 3 * 2**19
"""The bytes of the largest object that etcd stores; JSON spends six characters on each `\\x01`."""


def path(name: str) -> str:
    return LWS.path("team-a", name)


@pytest.fixture
async def cache(client: Client, background: Background) -> Cache[Any]:
    """Return a cache of LeaderWorkerSets that is kept up to date."""
    kept = Cache(LWS)
    background(reflect(client, kept))
    return kept


Follow = Callable[..., Awaitable[Cache[Any]]]


@pytest.fixture
def follow(client: Client, background: Background) -> Follow:
    """Return a function that keeps a cache up to date, and returns it once its kind is listed."""

    async def listed(cache: Cache[Any], *namespaces: tuple[str, ...]) -> Cache[Any]:
        background(reflect(client, cache, *namespaces))
        await eventually(lambda: not cache.availability.trouble)
        return cache

    return listed


async def test_existing_objects_are_listed(api: Api, follow: Follow) -> None:
    for number in range(7):
        api.put(path(f"p{number}"), lws(f"p{number}"))
    api.page = 3

    cache = await follow(Cache(LWS))

    assert len(cache.rows) == 7


async def test_the_token_is_sent(api: Api, cache: Cache[Any]) -> None:
    seen: list[str] = []
    api.fault = lambda request: seen.append(request.headers.get("Authorization", ""))

    await eventually(lambda: not cache.availability.trouble)

    assert seen[0] == "Bearer secret-token"


@pytest.mark.parametrize(
    ("kind", "query"),
    [(DEPLOYMENT, "labelSelector=fusioninfer.io/service&limit=100"), (LWS, "limit=100")],
    ids=lambda one: getattr(one, "kind", ""),
)
async def test_lists_use_pages_and_our_label(api: Api, follow: Follow, kind: Kind[Any], query: str) -> None:
    seen: list[str] = []
    api.fault = lambda request: seen.append(request.query_string)

    await follow(Cache(kind))

    assert seen[0] == query


async def test_a_page_that_is_too_large_is_read_in_parts(
    api: Api, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred ConfigMaps of one tenant, of 6 MB of JSON each, would end the process."""
    monkeypatch.setattr("kube.client.PAGE_BYTES", 20_000)
    for number in range(9):
        api.put(path(f"p{number}"), lws(f"p{number}"))
    large = lws("q")
    large["metadata"]["annotations"]["example.com/note"] = "<" * 50_000
    api.put(path("q"), large)
    limits: list[int] = []
    api.fault = lambda request: limits.append(int(request.query.get("limit", 0)))

    cache = await follow(Cache(LWS))

    assert (len(cache.rows), cache.availability.trouble) == (10, "")
    assert limits[:2] == [100, 50]
    assert 1 in limits


async def test_what_is_written_during_a_list_is_newer_than_its_pages(api: Api, follow: Follow) -> None:
    """The first was stored from the page before, the second comes with the page after the write."""
    for number in range(2):
        api.put(path(f"p{number}"), lws(f"p{number}"))
    api.page, cache = 1, Cache(LWS)

    def write(request: web.Request) -> None:
        if "continue" in request.query:
            for name in ("p0", "p1"):
                written = lws(name, replicas=7)
                written["metadata"]["resourceVersion"] = "9"
                cache.put(LWS.projected(written))

    api.fault = write
    await follow(cache)

    assert [row.resource_version for row in cache.rows.values()] == [9, 9]


async def test_the_largest_object_of_a_watch_needs_no_list(api: Api, follow: Follow) -> None:
    cache = await follow(Cache(CONFIG_MAP))
    lists: list[str] = []
    api.fault = lambda request: lists.append(request.path) if "limit" in request.query else None
    metadata = {"namespace": "team-a", "name": "c", "labels": {"fusioninfer.io/service": "s"}}

    api.put(
        CONFIG_MAP.path("team-a", "c"),
        {"kind": "ConfigMap", "metadata": metadata, "data": {"page": "\x01" * LARGEST}},
    )

    await eventually(lambda: len(cache.rows) == 1)
    assert lists == []


async def test_added_changed_and_deleted_objects_are_followed(api: Api, cache: Cache[Any]) -> None:
    await eventually(lambda: not cache.availability.trouble)

    api.put(path("p"), lws("p"))
    api.put(path("d"), lws("d"))
    api.edit(path("d"), replicas=5)
    api.remove(path("p"))

    await eventually(lambda: [row.member.replicas for row in cache.rows.values()] == [5])


async def test_a_member_that_opts_out_is_dropped(api: Api, cache: Cache[Any]) -> None:
    api.put(path("p"), lws("p"))
    await eventually(lambda: len(cache.rows) == 1)
    bare = lws("p")
    bare["metadata"] |= {"annotations": {}, "labels": {}}
    bare["spec"]["leaderWorkerTemplate"]["workerTemplate"] = {"spec": {}}

    api.put(path("p"), bare)

    await eventually(lambda: not cache.rows)


async def test_a_dropped_watch_continues_from_its_version(api: Api, cache: Cache[Any]) -> None:
    api.put(path("p"), lws("p"))
    await eventually(lambda: bool(api.watches and cache.rows))
    lists: list[str] = []
    api.fault = lambda request: None if "watch" in request.query else lists.append(request.path)

    api.drop()
    api.put(path("d"), lws("d"))

    await eventually(lambda: len(cache.rows) == 2)
    assert lists == []


async def test_a_version_that_is_gone_causes_a_list(api: Api, cache: Cache[Any]) -> None:
    api.put(path("p"), lws("p"))
    await eventually(lambda: bool(api.watches and cache.rows))
    api.remove(path("p"))
    api.put(path("d"), lws("d"))

    api.forget()

    await eventually(lambda: list(cache.rows) == [("team-a", "d")])


async def test_changes_are_followed_in_a_cluster_that_was_restored_after_a_deletion(
    api: Api, cache: Cache[Any]
) -> None:
    """It counts from an earlier version, so the deletion is not newer than these changes."""
    await eventually(lambda: not cache.availability.trouble)
    for replicas in range(1, 9):
        api.put(path("p"), lws("p", replicas=replicas))
    api.remove(path("p"))
    await eventually(lambda: bool(cache.deleted))
    api.history.clear()
    api.put(path("p"), lws("p", replicas=2))
    api.fault = lambda request: (
        status(410, "Expired") if request.query.get("resourceVersion") == "9" else None
    )
    api.drop()
    await eventually(lambda: bool(cache.rows))

    api.put(path("p"), lws("p", replicas=3))

    await eventually(lambda: [row.member.replicas for row in cache.rows.values()] == [3])


@pytest.mark.usefixtures("cache")
async def test_an_error_event_causes_a_list(api: Api) -> None:
    lists: list[str] = []
    api.fault = lambda request: None if "watch" in request.query else lists.append(request.path)
    await eventually(lambda: bool(api.watches))

    api.history.append(("ERROR", {"kind": "LeaderWorkerSet", "code": 410, "metadata": {}}))
    api.changed.set()

    await eventually(lambda: len(lists) > 1)


async def test_a_truncated_line_causes_a_list(api: Api, cache: Cache[Any]) -> None:
    broken: list[str] = []

    def truncate(request: web.Request) -> web.Response | None:
        if "watch" not in request.query or broken:
            return None
        broken.append(request.path)
        return web.Response(text='{"type": "ADDED", "object": {"metad')

    api.fault = truncate
    await eventually(lambda: not cache.availability.trouble)

    api.put(path("p"), lws("p"))

    await eventually(lambda: len(cache.rows) == 1)


async def test_a_list_or_a_watch_that_is_refused_or_none_is_tried_again(api: Api, cache: Cache[Any]) -> None:
    refused = [status(code, "TooManyRequests") for code in (429, 500, 503)]
    lists = [web.Response(text="<html>"), web.json_response({}), web.json_response([1]), *refused]
    watches = [status(429, "TooManyRequests"), status(500, "InternalError")]

    def answer(request: web.Request) -> web.Response | None:
        answers = watches if "watch" in request.query else lists
        return answers.pop() if answers else None

    api.fault = answer
    await eventually(lambda: not cache.availability.trouble)
    api.put(path("p"), lws("p"))

    await eventually(lambda: len(cache.rows) == 1)
    assert (lists, watches) == ([], [])


async def test_a_kind_that_is_not_served_has_an_empty_cache(api: Api, cache: Cache[Any]) -> None:
    api.fault = lambda _request: web.Response(status=404, text="404 page not found")

    await eventually(lambda: not cache.availability.trouble)

    assert cache.rows == {}


async def test_a_silent_watch_is_ended(
    api: Api, client: Client, background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "SILENCE", 0.2)
    watched: list[str] = []
    api.fault = lambda request: watched.append(request.path) if "watch" in request.query else None

    background(reflect(client, Cache(LWS)))

    await eventually(lambda: len(watched) >= 2)


async def test_an_object_without_its_content_is_listed_again_once_there_is_room(
    api: Api, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync.watch.cache.ROW_LIMIT", 2**16)
    api.put(path("p"), lws("p"))
    cache = await follow(Cache(LWS, space=BytePool(1)))
    assert set(cache.unreadable) == {("team-a", "p")}

    cache.space.size = 2**20
    api.fault = lambda request: web.Response(text="") if "watch" in request.query else None
    api.drop()

    await eventually(lambda: (len(cache.rows), len(cache.unreadable)) == (1, 0))


async def test_an_equal_row_causes_no_reconcile(api: Api, follow: Follow) -> None:
    woken: list[object] = []
    await follow(Cache(LWS, woken.append))
    api.put(path("p"), lws("p"))
    await eventually(lambda: bool(woken))

    api.put(path("p"), lws("p") | {"status": {"replicas": 1}})
    await asyncio.sleep(0.1)

    assert woken == [
        ("team-a", "r1"),
        ("LeaderWorkerSet", "team-a", "p"),
        ("LeaderWorkerSet", "team-a", "r1-epp"),
        ("LeaderWorkerSet", "team-a", "r1-api"),
    ]


# --- some namespaces --------------------------------------------------------------------------------

HOMES = ("team-a", "team-b")


def of(namespace: str, name: str = "p") -> tuple[str, Object]:
    """Return the path of a LeaderWorkerSet of a namespace, and the object."""
    obj = lws(name)
    return LWS.path(namespace, name), obj | {"metadata": obj["metadata"] | {"namespace": namespace}}


def names(cache: Cache[Any]) -> set[tuple[str, str]]:
    return set(cache.rows)


@pytest.fixture
async def some(api: Api, follow: Follow) -> Cache[Any]:
    """Return a cache of two of three namespaces, each of which has an object."""
    for namespace in (*HOMES, "team-c"):
        api.put(*of(namespace))
    return await follow(Cache(LWS), HOMES)


async def test_no_other_namespace_is_asked_for_or_known(api: Api, some: Cache[Any]) -> None:
    assert names(some) == {(namespace, "p") for namespace in HOMES}
    await eventually(lambda: len(api.watches) == len(HOMES))

    assert {path for _, path in api.requests} == {LWS.path(namespace) for namespace in HOMES}
    assert some.availability.trouble == ""


async def test_changes_in_each_of_them_are_followed(api: Api, some: Cache[Any]) -> None:
    await eventually(lambda: len(api.watches) == len(HOMES))

    for namespace in (*HOMES, "team-c"):
        api.put(*of(namespace, "q"))
    api.remove(LWS.path("team-a", "p"))

    await eventually(lambda: names(some) == {("team-a", "q"), ("team-b", "p"), ("team-b", "q")})


async def test_a_version_that_is_gone_in_one_is_listed_again(api: Api, some: Cache[Any]) -> None:
    await eventually(lambda: len(api.watches) == len(HOMES))

    api.forget()
    api.put(*of("team-b", "late"))

    await eventually(lambda: ("team-b", "late") in names(some))
    assert ("team-a", "p") in names(some)


def forbid(api: Api, namespace: str) -> None:
    """Refuse every request about a namespace, as after its RoleBinding was deleted."""
    api.fault = lambda request: status(403, "Forbidden", "no", "p") if namespace in request.path else None
    api.drop()


async def test_a_namespace_that_may_not_be_listed_is_unknown_and_the_others_are_followed(
    api: Api, some: Cache[Any]
) -> None:
    await eventually(lambda: len(api.watches) == len(HOMES))

    forbid(api, "team-b")
    await eventually(lambda: "no" in some.availability.trouble_in("team-b"))
    api.put(*of("team-a", "q"))

    await eventually(lambda: ("team-a", "q") in names(some))
    assert (some.availability.trouble_in("team-a"), some.availability.trouble != "") == ("", True)
    assert ("team-b", "p") in names(some)


async def test_a_namespace_that_may_be_listed_again_is_known(api: Api, some: Cache[Any]) -> None:
    forbid(api, "team-b")
    await eventually(lambda: bool(some.availability.trouble_in("team-b")))
    recovered: list[str] = []
    some.availability.recovered = lambda: recovered.append("again")
    api.put(*of("team-b", "late"))
    api.remove(LWS.path("team-b", "p"))

    api.fault = lambda _request: None

    await eventually(lambda: recovered == ["again"])
    assert names(some) == {("team-a", "p"), ("team-b", "late")}


async def test_namespaces_of_which_one_is_never_listed_are_settled_and_not_all_known(
    api: Api, client: Client, background: Background
) -> None:
    forbid(api, "team-b")
    cache = Cache(LWS)

    background(reflect(client, cache, HOMES))

    await cache.availability.settled.wait()
    assert cache.availability.trouble


# --- when the API server was last heard --------------------------------------------------------------


async def test_a_list_and_an_event_are_heard(api: Api, cache: Cache[Any]) -> None:
    cache.availability.scopes[EVERYWHERE].heard = 0.0
    await eventually(lambda: bool(api.watches))
    assert cache.availability.heard

    cache.availability.scopes[EVERYWHERE].heard = 0.0
    api.put(LWS.path("team-a", "p"), lws("p"))

    await eventually(lambda: bool(cache.rows))
    assert cache.availability.heard


async def test_one_deaf_watch_of_several_namespaces_is_noticed(
    api: Api, client: Client, background: Background
) -> None:
    """Where only some namespaces are watched, each has a watch of its own."""
    cache = Cache(LWS)
    background(reflect(client, cache, ("team-a", "team-b")))
    await eventually(lambda: len(api.watches) == 2)
    for scope in cache.availability.scopes.values():
        scope.heard = 0.0

    api.put(LWS.path("team-a", "p"), lws("p"))
    await eventually(lambda: cache.availability.scopes["team-a"].heard > 0)

    assert cache.availability.heard == 0


async def test_a_refused_list_is_heard(api: Api, cache: Cache[Any]) -> None:
    api.fault = lambda _request: status(403, "Forbidden")
    cache.availability.scopes[EVERYWHERE].heard = 0.0

    await eventually(lambda: len(api.requests) > 1)

    assert cache.availability.heard


async def test_a_watch_on_which_nothing_arrives_is_not_heard(api: Api, cache: Cache[Any]) -> None:
    await eventually(lambda: bool(api.watches))
    cache.availability.scopes[EVERYWHERE].heard = 0.0

    await asyncio.sleep(0.2)

    assert not cache.availability.heard


async def test_a_broken_connection_is_not_heard(client: Client, background: Background) -> None:
    client.configuration.host = "http://127.0.0.1:9"  # discard: nothing listens
    cache = Cache(LWS)
    cache.availability.scopes[EVERYWHERE].heard = 0.0

    background(reflect(client, cache))

    await eventually(lambda: cache.availability.scopes[EVERYWHERE].failures > 1)
    assert not cache.availability.heard
