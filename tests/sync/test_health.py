"""The process is restarted for a deaf watch, and for nothing else."""

import asyncio
import time
from typing import Any

import pytest

from kube.client import SILENCE, Client
from sync.health import DEAF, unhealthy
from sync.kinds import LWS, POD_GROUP
from sync.watch.availability import EVERYWHERE
from sync.watch.cache import Cache, Caches
from sync.watch.reflector import reflect
from tests.sync.conftest import Background, eventually
from tests.sync.fake_api import Api, status
from tests.sync.samples import lws

NOW = 10_000.0


def caches(lws_heard: float, groups_heard: float) -> Caches:
    """Return two caches that heard from the API server so many seconds ago."""
    made: Caches = {kind.kind: Cache(kind) for kind in (LWS, POD_GROUP)}
    for kind, seconds in ((LWS, lws_heard), (POD_GROUP, groups_heard)):
        made[kind.kind].availability.scopes[EVERYWHERE].heard = NOW - seconds
    return made


@pytest.mark.parametrize(
    ("lws_heard", "groups_heard", "answered", "why"),
    [
        (0.0, 0.0, 0.0, ""),
        (DEAF - 1, 0.0, 0.0, ""),
        (DEAF + 1, 0.0, 0.0, "deaf watch: LeaderWorkerSet"),
        (DEAF + 1, DEAF + 1, 0.0, "deaf watch: LeaderWorkerSet, PodGroup"),
        (DEAF + 1, DEAF + 1, SILENCE + 1, ""),
    ],
)
def test_a_watch_is_deaf_if_only_other_requests_are_answered(
    lws_heard: float, groups_heard: float, answered: float, why: str
) -> None:
    assert unhealthy(caches(lws_heard, groups_heard), NOW - answered, NOW) == why


@pytest.fixture
async def cache(client: Client, background: Background) -> Cache[Any]:
    """Return a cache of LeaderWorkerSets that is kept up to date."""
    kept = Cache(LWS)
    background(reflect(client, kept))
    return kept


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
    now = time.monotonic()
    for scope in cache.availability.scopes.values():
        scope.heard = now - DEAF - 1

    api.put(LWS.path("team-a", "p"), lws("p"))
    await eventually(lambda: cache.availability.scopes["team-a"].heard >= now)

    assert unhealthy({LWS.kind: cache}, now, now) == f"deaf watch: {LWS.kind}"


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
