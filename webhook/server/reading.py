"""Read templates for requests of /mutate, such that no caller and no namespace delays another one.

While templates are read, a request holds its body. At most `TURNS` requests of one namespace of a caller read
at once, and of a caller that is not known `webhook.server.callers.READING`, whatever it says of namespaces;
the rest of them wait, for as long as reading may take. What waits is limited as everything of the server is.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import InitVar, dataclass, field
from time import monotonic
from typing import Final
from weakref import WeakValueDictionary

from intent.template import Templates, Unavailable
from webhook.review import Wanted
from webhook.server.callers import Peer
from webhook.server.metrics import Count
from webhook.server.shares import FullError, Shares, expire, held

SECONDS: Final = 1.5
"""For all templates of one request, with the wait for a turn."""
SPARE: Final = 0.5
"""Seconds of the caller's deadline that are left to answer."""
TURNS: Final = 2
"""Requests of one namespace that read at once; each reads at most 8 templates in two namespaces."""
READS: Final = 64
"""Reads at once: one namespace has at most half, as those have that are not known where others are."""
BYTES: Final = 64 * 2**20
"""The size of the bodies that wait; each counts as `LEAST` at least, so that there are 256."""
LEAST: Final = BYTES // 256
LATE: Final = "cannot be read now: the API server did not answer in time; try again"

ReadTemplates = Callable[[Wanted], Awaitable[Templates]]
"""Reads templates by name. Its caller cancels it when the time is over."""


def _ignore(_outcome: str, _seconds: float) -> None:
    """Count nothing."""


@dataclass(slots=True)
class TemplateLoader:
    """What reads templates, and the requests that wait for it."""

    read: ReadTemplates
    count: Count = _ignore
    """Counts the templates of one request."""
    reserved: InitVar[float] = 0.0
    """The part of the limits that is kept for known callers."""
    waiting: Shares[asyncio.Timeout] = field(init=False)
    """The requests that wait or read."""
    turns: WeakValueDictionary[tuple[Peer, str], asyncio.Semaphore] = field(
        default_factory=WeakValueDictionary
    )
    """By caller and namespace, while a request of it waits or reads."""
    others: asyncio.Semaphore = field(init=False)
    """The requests that read of callers that are not known."""

    def __post_init__(self, reserved: float) -> None:
        """Divide the limits."""
        self.waiting = Shares(BYTES, reserved, expire)
        self.others = asyncio.Semaphore(TURNS if reserved else READS)

    async def templates(self, wanted: Wanted, size: int, until: float, peer: Peer) -> Templates:
        """Return the templates for a request with a body of `size` bytes. Raises `FullError`.

        Those that were not read in time are `Unavailable`.
        """
        began, outcome = monotonic(), "late"
        try:
            found = await self._read(wanted, size, until, peer)
            outcome = "missing" if any(isinstance(one, Unavailable) for one in found.values()) else "read"
        except FullError:
            outcome = "crowded"
            raise
        except TimeoutError:
            return dict.fromkeys(wanted.names, Unavailable(LATE))
        else:
            return found
        finally:
            self.count(outcome, monotonic() - began)

    async def _read(self, wanted: Wanted, size: int, until: float, peer: Peer) -> Templates:
        turns = self.turns.setdefault((peer, wanted.namespace), asyncio.Semaphore(TURNS))
        seconds = min(SECONDS, until - monotonic() - SPARE)
        async with AsyncExitStack() as stack:
            enter, name = stack.enter_async_context, wanted.namespace.encode()
            await enter(held(self.waiting, peer, name, seconds, max(size, LEAST)))
            for limit in (turns,) if peer.is_known else (turns, peer.reads, self.others):
                await enter(limit)
            return await self.read(wanted)
