"""Keeps a cache equal to the API server: list, then watch, forever.

A watch ends for one of three reasons:
1. Its time is up, nothing arrives, or the connection breaks: watch again from the last version; if objects
   were left without their content, and there is room now, list again.
2. The version is gone (410, as an answer or as an event), the API server refuses several times in a row, or
   it sends something that cannot be read: list again, with a growing delay. Another watch would receive it
   again.
3. The kind does not exist (404): ask the API server's discovery, and list again; once it counts as not
   served, only list, once a minute. A failed list leaves the cache as it is: `Cache.fail` decides when a
   kind counts as unavailable or not served. The last version is sent back as it was received; only the
   cache compares versions.
"""

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Final, TypeVar

import structlog

from intent.shapes import listed, mapping
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client, logged
from kube.request import get, watch
from sync.clock import MINUTE, Backoff, Pace
from sync.kinds import Resource
from sync.observed.cached import Row, resource_version
from sync.watch.availability import ENOUGH
from sync.watch.cache import Cache, NamespacedName
from sync.watch.intake import Intake

R = TypeVar("R", bound=Row)
log: Final = structlog.stdlib.get_logger(__name__)
WATCH_SECONDS: Final = (300, 600)
"""The timeout that a watch asks for, at random in between, so that not all watches are restarted at once (as
client-go `tools/cache/reflector.go`)."""
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
        cache.availability.divide(namespaces)
    async with asyncio.TaskGroup() as tasks:
        for scope in tuple(cache.availability.scopes):
            intake = Intake(cache, client.pool)
            tasks.create_task(intake.run())
            tasks.create_task(_reflect(client, cache, scope, intake))


async def _reflect(client: Client, cache: Cache[R], namespace: str, intake: Intake) -> None:
    """Keep the objects of one scope up to date."""
    backoff = Backoff()
    while True:
        try:
            version, names = await _list(client, cache, namespace)
            intake.clear()
            await cache.keep_only(names, namespace)
            await _watch(client, intake, namespace, version, backoff)
        except Gone as why:
            log.info("watch ended: listing again", kind=cache.kind.resource.plural, error=str(why))
            await asyncio.sleep(backoff.next())
        except (ApiError, *BROKEN) as error:
            if not isinstance(error, NO_ANSWER):
                cache.availability.hear(namespace)
            scope = cache.availability.scopes[namespace]
            is_missing = isinstance(error, ApiError) and error.code == NOT_FOUND
            denied = is_missing and (scope.absent or await is_served(client, cache.kind.resource) is False)
            await cache.fail(str(error) or type(error).__name__, denied=denied, namespace=namespace)
            at_least = MINUTE if scope.absent else 0.0
            await _wait(cache, backoff, error, at_least, level=logging.DEBUG if denied else logging.WARNING)


def _path(cache: Cache[R], namespace: str) -> str:
    """Return the path of the objects of one scope."""
    resource = cache.kind.resource
    return resource.path(namespace) if namespace else resource.collection


# --- list -------------------------------------------------------------------------------------------


async def _list(client: Client, cache: Cache[R], namespace: str) -> tuple[str, set[NamespacedName]]:
    """List and store the objects of one scope; return the version of the list, and their names.

    What the controller wrote meanwhile is newer. But what was known before the list is never newer than it,
    unless the store of the API server was restored from a backup: then all is as listed.
    """
    version, names, pace, newest = "", set[NamespacedName](), Pace(), cache.newest
    async for answer in client.pages(_path(cache, namespace), cache.kind.resource.selector):
        cache.availability.hear(namespace)
        version = answer.metadata.version
        is_restored = newest > resource_version({"resourceVersion": version})
        if is_restored:
            cache.deleted.clear()
        for item in answer.items or ():
            row = await cache.read(bytes(item))
            if row is not None:
                names.add((row.namespace, row.name))
                (cache.store if is_restored else cache.put)(row)
            await pace.rest()
    return version, names


async def is_served(client: Client, resource: Resource) -> bool | None:
    """Return whether the API server's discovery (`metav1.APIResourceList`) has a kind; None if unknown."""
    try:
        found = await client.call(get(resource.collection.rpartition("/")[0]))
    except ApiError as error:
        return False if error.code == NOT_FOUND else None
    except BROKEN:
        return None
    served = {mapping(one).get("name") for one in listed(found.get("resources"))}
    return resource.plural in served if found.get("kind") == "APIResourceList" else None


# --- watch ------------------------------------------------------------------------------------------


async def _watch(client: Client, intake: Intake, namespace: str, version: str, backoff: Backoff) -> None:
    """Watch one scope repeatedly. Raises Gone when a list is needed."""
    cache, failures, pace = intake.cache, 0, Pace()
    while True:
        before = version
        try:
            seconds = random.randint(*WATCH_SECONDS)  # noqa: S311 - spreads load, guards no secret
            request = watch(_path(cache, namespace), cache.kind.resource.selector, version, seconds)
            async for event in client.follow(request):
                cache.availability.hear(namespace)
                if event.type == "ERROR":
                    raise Gone("the API server sent an ERROR event")
                version, failures = await intake.receive(event), 0
                backoff.reset()
                await pace.rest()
        except ApiError as error:
            cache.availability.hear(namespace)
            failures += 1
            if error.code in {GONE, NOT_FOUND} or failures >= ENOUGH:
                raise Gone(logged(error)) from error
            await _wait(cache, backoff, error)
        except NO_ANSWER as error:
            await _wait(cache, backoff, error)
        except ValueError as error:
            raise Gone(f"cannot be read: {logged(error)}") from error
        else:
            cache.availability.hear(namespace)
            if cache.has_room_again():
                raise Gone("there is room for objects whose content was not kept")
            await asyncio.sleep(0 if version != before else backoff.next())


async def _wait(
    cache: Cache[R], backoff: Backoff, error: Exception, at_least: float = 0.0, level: int = logging.WARNING
) -> None:
    seconds = backoff.next(max(at_least, getattr(error, "retry_after", 0.0)))
    log.log(
        level,
        "list or watch failed: will retry",
        kind=cache.kind.resource.plural,
        error=logged(error),
        retry_in=seconds,
    )
    await asyncio.sleep(seconds)
