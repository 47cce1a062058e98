"""When the API server was last heard: by lists and watches, whatever it answers."""

import asyncio
from typing import Any

import pytest

from kube.client import Client
from sync.kinds import LWS
from sync.watch.availability import EVERYWHERE
from sync.watch.cache import Cache
from sync.watch.reflector import reflect
from tests.sync.conftest import Background, eventually
from tests.sync.fake_api import Api, status
from tests.sync.samples import lws


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
