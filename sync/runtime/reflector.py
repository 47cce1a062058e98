"""Keeps a cache equal to the API server: list, then watch, forever.

A watch ends for one of three reasons:
1. Its time is up, nothing arrives, or the connection breaks: watch again from the last version.
2. The version is gone (410, as an answer or as an event), the API server refuses several times in a row, or
   it sends something that cannot be read: list again, with a growing delay. Another watch would receive it
   again.
3. The kind does not exist (404): ask the API server's discovery, and list again. A failed list leaves the
   cache as it is: `Cache.fail` decides when a kind counts as unavailable or not served. The last version is
   sent back as it was received; only the cache compares versions.
"""

import asyncio
import logging
import math
import random
from collections.abc import AsyncIterator, Sequence
from typing import Final, TypeVar

import structlog

from intent.shapes import listed, mapping
from kube.client import (
    NO_ANSWER,
    NOT_FOUND,
    PAGE_BYTES,
    AnswerTooLargeError,
    ApiError,
    Client,
    logged,
    read_at_any_depth,
)
from kube.request import PAGE, get, page, watch
from kube.wire import WatchEvent
from sync.kinds import Kind
from sync.observed.cached import Row, UnreadableObject
from sync.runtime.cache import ENOUGH, Cache
from sync.runtime.clock import Backoff, Pace
from sync.runtime.intake import Intake

R = TypeVar("R", bound=Row)
log: Final = structlog.stdlib.get_logger(__name__)
WATCH_SECONDS: Final = (240, 300)
"""The timeout that a watch asks for, at random in between, so that not all watches are restarted at once."""
GONE: Final = 410
BROKEN: Final = (*NO_ANSWER, ValueError, KeyError, TypeError)
"""No answer, or an answer that no API server gives."""


class Gone(Exception):  # noqa: N818 - HTTP's own word for it
    """The version to watch from is gone; a list is needed."""


async def reflect(client: Client, cache: Cache[R], namespaces: Sequence[str] = ()) -> None:
    """Keep a cache up to date until cancelled, with the objects of these namespaces; none: of all.

    Each namespace is listed and watched on its own: the admins of one may remove the permissions there.
    """
    if namespaces:
        cache.divide(namespaces)
    async with asyncio.TaskGroup() as tasks:
        for scope in tuple(cache.scopes):
            intake = Intake(cache)
            tasks.create_task(intake.run())
            tasks.create_task(_reflect(client, cache, scope, intake))


async def _reflect(client: Client, cache: Cache[R], namespace: str, intake: Intake) -> None:
    """Keep the objects of one scope up to date."""
    backoff = Backoff()
    while True:
        try:
            rows: list[R | UnreadableObject] = []
            version = await _list(client, cache, namespace, rows)
            intake.clear()
            cache.replace(rows, namespace)
            await _watch(client, intake, namespace, version, backoff)
        except Gone as why:
            log.info("watch ended: listing again", kind=cache.kind.resource.plural, error=str(why))
            await asyncio.sleep(backoff.next())
        except (ApiError, *BROKEN) as error:
            _hear(cache, namespace, error)
            denied = _is_not_found(error) and await _is_denied(client, cache.kind)
            cache.fail(_reason(error), denied=denied, namespace=namespace)
            await _wait(cache, backoff, error, level=logging.DEBUG if denied else logging.WARNING)


def _path(cache: Cache[R], namespace: str) -> str:
    """Return the path of the objects of one scope."""
    resource = cache.kind.resource
    return resource.path(namespace) if namespace else resource.collection


# --- list -------------------------------------------------------------------------------------------


async def _list(client: Client, cache: Cache[R], namespace: str, rows: list[R | UnreadableObject]) -> str:
    """List all pages of one scope, add the projections, and return the version of the list.

    A page that is too large is asked for again with half as many objects; after a small one, twice as many.
    """
    token, most, pace = "", PAGE, Pace()
    while True:
        at_most = PAGE_BYTES if most > 1 else math.inf
        try:
            asked = page(_path(cache, namespace), cache.kind.resource.selector, token, most)
            answer = await client.page(asked, at_most)
        except AnswerTooLargeError:
            cache.hear(namespace)
            most //= 2
            continue
        cache.hear(namespace)
        if sum(memoryview(item).nbytes for item in answer.items or ()) < PAGE_BYTES / 4:
            most = min(PAGE, 2 * most)
        for item in answer.items or ():
            row = cache.project(await read_at_any_depth(cache.kind.read, bytes(item)))
            rows += [row] if row is not None else ()
            await pace.rest()
        token = answer.metadata.token
        if not token:
            return answer.metadata.version


def _is_not_found(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.code == NOT_FOUND


async def _is_denied(client: Client, kind: Kind[R]) -> bool:
    """Return whether the API server's discovery (`metav1.APIResourceList`) lacks a kind; False if unknown."""
    try:
        found = await client.call(get(kind.resource.collection.rpartition("/")[0]))
    except ApiError as error:
        return error.code == NOT_FOUND
    except BROKEN:
        return False
    served = {mapping(one).get("name") for one in listed(found.get("resources"))}
    return found.get("kind") == "APIResourceList" and kind.resource.plural not in served


# --- watch ------------------------------------------------------------------------------------------


async def _watch(client: Client, intake: Intake, namespace: str, version: str, backoff: Backoff) -> None:
    """Watch one scope repeatedly. Raises Gone when a list is needed."""
    cache, failures, pace = intake.cache, 0, Pace()
    while True:
        before = version
        try:
            async for event in _events(client, cache, namespace, version):
                cache.hear(namespace)
                if event.type == "ERROR":
                    raise Gone("the API server sent an ERROR event")
                version, failures = await intake.receive(event), 0
                backoff.reset()
                await pace.rest()
        except ApiError as error:
            cache.hear(namespace)
            failures += 1
            if error.code in {GONE, NOT_FOUND} or failures >= ENOUGH:
                raise Gone(logged(error)) from error
            await _wait(cache, backoff, error)
        except NO_ANSWER as error:
            await _wait(cache, backoff, error)
        except ValueError as error:
            raise Gone(f"cannot be read: {logged(error)}") from error
        else:
            cache.hear(namespace)
            await asyncio.sleep(0 if version != before else backoff.next())


def _hear(cache: Cache[R], namespace: str, error: Exception) -> None:
    """Record an error that is an answer of the API server."""
    if not isinstance(error, NO_ANSWER):
        cache.hear(namespace)


def _events(client: Client, cache: Cache[R], namespace: str, version: str) -> AsyncIterator[WatchEvent]:
    seconds = random.randint(*WATCH_SECONDS)  # noqa: S311 - spreads load, guards no secret
    return client.follow(watch(_path(cache, namespace), cache.kind.resource.selector, version, seconds))


def _reason(error: Exception) -> str:
    """Return the text of an error; a timeout has none but its type."""
    return str(error) or type(error).__name__


async def _wait(cache: Cache[R], backoff: Backoff, error: Exception, level: int = logging.WARNING) -> None:
    seconds = backoff.next(getattr(error, "retry_after", 0.0))
    log.log(
        level,
        "list or watch failed: will retry",
        kind=cache.kind.resource.plural,
        error=logged(error),
        retry_in=seconds,
    )
    await asyncio.sleep(seconds)
