"""Read templates for requests of /mutate, such that no namespace delays another one.

While templates are read, a request holds its body. At most `TURNS` requests of one namespace read at once, so
that it leaves reads to the others; the rest of them wait, for as long as reading may take. Beyond the
limits on waiting bodies a request is refused at once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from intent.template import Templates, Unavailable
from webhook.review import AdmissionAnswer, Wanted
from webhook.server.metrics import Count

SECONDS: Final = 1.5
"""For all templates of one request, with the wait for a turn."""
SPARE: Final = 0.5
"""Seconds of the caller's deadline that are left to answer."""
TURNS: Final = 2
"""Requests of one namespace that read at once; each reads at most 8 templates in two namespaces."""
READS: Final = 64
"""Reads of all namespaces at once: one of them has at most half."""
WAITING: Final = 64
"""Requests of one namespace that may wait and read."""
WAITING_BYTES: Final = 16 * 2**20
"""The size of their bodies."""
ALL_BYTES: Final = 64 * 2**20
"""The size of the waiting bodies of all namespaces."""
LATE: Final = "cannot be read now: the API server did not answer in time; try again"

ReadTemplates = Callable[[Wanted], Awaitable[Templates]]
"""Reads templates by name. Its caller cancels it when the time is over."""


class CrowdedError(Exception):
    """Too many requests, or too many bytes, are waiting for templates."""


@dataclass(slots=True)
class _Queue:
    """The requests of one namespace that wait or read."""

    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(TURNS))
    requests: int = 0
    bytes: int = 0


def _ignore(_outcome: str, _seconds: float) -> None:
    """Count nothing."""


@dataclass(slots=True)
class TemplateLoader:
    """What reads templates, and the requests that wait for it."""

    read: ReadTemplates
    review: Callable[[bytes], AdmissionAnswer]
    """Answers a body with its templates."""
    count: Count = _ignore
    """Counts the templates of one request."""
    queues: dict[str, _Queue] = field(default_factory=dict)

    async def templates(self, wanted: Wanted, size: int, until: float) -> Templates:
        """Return the templates for a request with a body of `size` bytes. Raises `CrowdedError`.

        Those that were not read in time are `Unavailable`.
        """
        began, outcome = monotonic(), "late"
        try:
            found = await self._read(wanted, size, until)
            outcome = "missing" if any(isinstance(one, Unavailable) for one in found.values()) else "read"
        except CrowdedError:
            outcome = "crowded"
            raise
        except TimeoutError:
            return dict.fromkeys(wanted.names, Unavailable(LATE))
        else:
            return found
        finally:
            self.count(outcome, monotonic() - began)

    async def _read(self, wanted: Wanted, size: int, until: float) -> Templates:
        queue = self.queues.get(wanted.namespace) or _Queue()
        waiting = sum(one.bytes for one in self.queues.values())
        if queue.requests >= WAITING or queue.bytes + size > WAITING_BYTES or waiting + size > ALL_BYTES:
            raise CrowdedError
        self.queues[wanted.namespace] = queue
        queue.requests += 1
        queue.bytes += size
        try:
            async with asyncio.timeout(min(SECONDS, until - monotonic() - SPARE)), queue.turns:
                return await self.read(wanted)
        finally:
            queue.requests -= 1
            queue.bytes -= size
            if not queue.requests:
                del self.queues[wanted.namespace]
