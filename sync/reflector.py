"""Keeps a cache equal to what the API server has: list, then watch, for ever.

A watch ends for one of three reasons, and each has its own answer:
1. its time is up, or the connection or a line broke: watch on from the last version;
2. the version is gone (410, as an answer or as an event) or the server is confused: list again;
3. there is no such kind (404): nothing is known of it, look again later.
The last version seen is sent back as it came; only the cache compares versions.
"""

import asyncio
import logging
import random
from typing import Any, Final

from intent import Object
from sync.backoff import Backoff
from sync.cache import Cache
from sync.client import NO_ANSWER, NOT_FOUND, ApiError, Client
from sync.request import page, watch

log: Final = logging.getLogger(__name__)
WATCH_SECONDS: Final = (240, 300)
"""A watch asks to be ended after so long, at random in between, so that not all come back at once."""
GONE: Final = 410
BROKEN: Final = (*NO_ANSWER, ValueError, KeyError)
"""No answer, half a line, or something that no API server says."""


class Gone(Exception):  # noqa: N818 - HTTP's own word for it
    """The API server no longer knows what happened since our version."""


async def reflect(client: Client, cache: Cache) -> None:
    """Keep a cache up to date until cancelled."""
    backoff = Backoff()
    while True:
        try:
            version = await _list(client, cache)
            await _watch(client, cache, version, backoff)
        except Gone:
            log.info("list again", extra={"kind": cache.kind.plural})
            await asyncio.sleep(backoff.next())
        except (ApiError, *BROKEN) as error:
            await (_wait_for_kind if _is_absent(error) else _wait)(cache, backoff, error)


async def _list(client: Client, cache: Cache) -> str:
    """List all pages, keep the projections, give the version that they are from."""
    rows: list[Any] = []
    token = ""
    while True:
        answer = await client.call(page(cache.kind.collection, cache.kind.selector, token))
        rows += [row for obj in answer["items"] or () if (row := cache.kind.project(obj)) is not None]
        metadata = answer["metadata"]
        token = metadata.get("continue", "")
        if not token:
            cache.replace(rows)
            cache.absent = False
            return str(metadata["resourceVersion"])


async def _watch(client: Client, cache: Cache, version: str, backoff: Backoff) -> None:
    """Watch again and again; raises Gone when a list is needed."""
    while True:
        before = version
        try:
            async for event in _events(client, cache, version):
                version = _learn(cache, event)
                backoff.reset()
        except ApiError as error:
            if error.code in {GONE, NOT_FOUND}:
                raise Gone from error
            await _wait(cache, backoff, error)
        except BROKEN as error:
            await _wait(cache, backoff, error)
        else:
            await asyncio.sleep(0 if version != before else backoff.next())


def _events(client: Client, cache: Cache, version: str) -> Any:
    seconds = random.randint(*WATCH_SECONDS)  # noqa: S311 - spreads load, guards no secret
    request = watch(cache.kind.collection, cache.kind.selector, version, seconds)
    return client.follow(request, seconds)


def _learn(cache: Cache, event: Object) -> str:
    """Take one event in, and give the version to go on from."""
    if event["type"] == "ERROR":
        raise Gone
    obj = event["object"]
    metadata = obj["metadata"]
    if event["type"] != "BOOKMARK":
        row = None if event["type"] == "DELETED" else cache.kind.project(obj)
        if row is None:
            cache.drop((metadata.get("namespace", ""), metadata["name"]))
        else:
            cache.put(row)
    return str(metadata["resourceVersion"])


def _is_absent(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.code == NOT_FOUND


async def _wait_for_kind(cache: Cache, backoff: Backoff, _error: Exception) -> None:
    """Know nothing of a kind that is not installed, and say so once; it may come."""
    if not cache.absent:
        log.info("no such kind", extra={"kind": cache.kind.plural})
    cache.absent = True
    cache.replace(())
    await asyncio.sleep(backoff.next())


async def _wait(cache: Cache, backoff: Backoff, error: Exception) -> None:
    seconds = backoff.next(getattr(error, "retry_after", 0.0))
    log.warning("no news", extra={"kind": cache.kind.plural, "error": str(error), "again_in": seconds})
    await asyncio.sleep(seconds)
