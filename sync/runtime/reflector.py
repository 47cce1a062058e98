"""Keeps a cache equal to what the API server has: list, then watch, for ever.

A watch ends for one of three reasons, and each has its own answer:
1. its time is up, nothing arrives, or the connection breaks: watch on from the last version;
2. the version is gone (410, as an answer or as an event), the API server is confused, refuses several times
   in a row, or says what cannot be read: list again, later each time. To watch on would only hear it again;
3. there is no such kind (404): ask the API server's discovery, and list again.
A list that fails empties no cache: `Cache.fail` decides when a kind counts as unavailable, or as absent.
The last version seen is sent back as it came; only the cache compares versions.
"""

import asyncio
import logging
import random
import time
from typing import Any, Final

from intent import Object
from intent.shapes import listed, mapping
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client, patiently
from kube.request import get, page, watch
from kube.wire import read_object
from sync.kinds import Kind
from sync.runtime.cache import ENOUGH, Cache
from sync.runtime.clock import Backoff

log: Final = logging.getLogger(__name__)
WATCH_SECONDS: Final = (240, 300)
"""A watch asks to be ended after so long, at random in between, so that not all come back at once."""
TURN: Final = 0.01
"""Seconds of reading, after which others of this process get their turn: a list may be long."""
GONE: Final = 410
BROKEN: Final = (*NO_ANSWER, ValueError, KeyError, TypeError)
"""No answer, or something that no API server says."""


class Gone(Exception):  # noqa: N818 - HTTP's own word for it
    """To go on watching from our version leads nowhere."""


async def reflect(client: Client, cache: Cache) -> None:
    """Keep a cache up to date until cancelled."""
    backoff = Backoff()
    while True:
        try:
            version = await _list(client, cache)
            await _watch(client, cache, version, backoff)
        except Gone as why:
            log.info("list again", extra={"kind": cache.kind.plural, "error": str(why)})
            await asyncio.sleep(backoff.next())
        except (ApiError, *BROKEN) as error:
            denied = _is_not_found(error) and await _is_denied(client, cache.kind)
            cache.fail(_reason(error), denied=denied)
            await _wait(cache, backoff, error, level=logging.DEBUG if denied else logging.WARNING)


# --- list -------------------------------------------------------------------------------------------


async def _list(client: Client, cache: Cache) -> str:
    """List all pages, keep the projections, give the version that they are from."""
    rows: list[Any] = []
    token, turn = "", time.monotonic()
    while True:
        answer = await client.page(page(cache.kind.collection, cache.kind.selector, token))
        for item in answer.items or ():
            row = cache.project(await patiently(read_object, bytes(item)))
            rows += [row] if row is not None else ()
            if time.monotonic() > turn + TURN:
                await asyncio.sleep(0)
                turn = time.monotonic()
        token = answer.metadata.token
        if not token:
            cache.replace(rows)
            return answer.metadata.version


def _is_not_found(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.code == NOT_FOUND


async def _is_denied(client: Client, kind: Kind) -> bool:
    """Ask whether the API server serves a kind (`metav1.APIResourceList`); no answer is no denial."""
    try:
        found = await client.call(get(kind.collection.rpartition("/")[0]))
    except ApiError as error:
        return error.code == NOT_FOUND
    except BROKEN:
        return False
    served = {mapping(one).get("name") for one in listed(found.get("resources"))}
    return found.get("kind") == "APIResourceList" and kind.plural not in served


# --- watch ------------------------------------------------------------------------------------------


async def _watch(client: Client, cache: Cache, version: str, backoff: Backoff) -> None:
    """Watch again and again; raises Gone when a list is needed."""
    failures = 0
    while True:
        before = version
        try:
            async for event in _events(client, cache, version):
                version, failures = _learn(cache, event), 0
                backoff.reset()
        except ApiError as error:
            failures += 1
            if error.code in {GONE, NOT_FOUND} or failures >= ENOUGH:
                raise Gone(_reason(error)) from error
            await _wait(cache, backoff, error)
        except NO_ANSWER as error:
            await _wait(cache, backoff, error)
        except (ValueError, KeyError, TypeError) as error:
            raise Gone(f"cannot be read: {_reason(error)}") from error
        else:
            await asyncio.sleep(0 if version != before else backoff.next())


def _events(client: Client, cache: Cache, version: str) -> Any:
    seconds = random.randint(*WATCH_SECONDS)  # noqa: S311 - spreads load, guards no secret
    return client.follow(watch(cache.kind.collection, cache.kind.selector, version, seconds))


def _learn(cache: Cache, event: Object) -> str:
    """Take one event in, and give the version to go on from."""
    if event["type"] == "ERROR":
        raise Gone("the API server says so")
    obj = event["object"]
    metadata = obj["metadata"]
    if event["type"] == "DELETED":
        cache.drop((metadata.get("namespace", ""), metadata["name"]))
    elif event["type"] != "BOOKMARK":
        cache.take(obj)
    return str(metadata["resourceVersion"])


def _reason(error: Exception) -> str:
    """Say why there is no answer; a timeout has no words of its own."""
    return str(error) or type(error).__name__


async def _wait(cache: Cache, backoff: Backoff, error: Exception, level: int = logging.WARNING) -> None:
    seconds = backoff.next(getattr(error, "retry_after", 0.0))
    extra = {"kind": cache.kind.plural, "error": _reason(error), "again_in": seconds}
    log.log(level, "no news", extra=extra)
    await asyncio.sleep(seconds)
