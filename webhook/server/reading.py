"""Read templates for requests of /mutate, such that no caller and no namespace delays another one.

While templates are read, a request holds its body. At most `TURNS` requests of one namespace of a caller read
at once, and of a caller that is not known `webhook.server.callers.READING`, whatever it says of namespaces;
the rest of them wait, for as long as reading may take. What waits is limited as everything of the server is.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from time import monotonic
from typing import Final
from weakref import WeakValueDictionary

from intent.template import Templates, Unavailable
from webhook.review import Wanted
from webhook.server.callers import Peer
from webhook.server.shares import Shares, expire, held

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


class TemplateLoader:
    """What reads templates, and the requests that wait for it."""

    def __init__(self, read: ReadTemplates, reserved: float = 0.0) -> None:
        """Keep the part `reserved` of the limits for known callers."""
        self.read = read
        self.waiting = Shares(BYTES, reserved, expire)
        self.turns = WeakValueDictionary[tuple[Peer, str], asyncio.Semaphore]()
        """By caller and namespace, while a request of it waits or reads."""
        self.others = asyncio.Semaphore(TURNS if reserved else READS)
        """The requests that read of callers that are not known."""

    async def templates(self, wanted: Wanted, size: int, until: float, peer: Peer) -> Templates:
        """Return the templates for a request with a body of `size` bytes. Raises `FullError`.

        Those that were not read in time are `Unavailable`.
        """
        turns = self.turns.setdefault((peer, wanted.namespace), asyncio.Semaphore(TURNS))
        seconds = min(SECONDS, until - monotonic() - SPARE)
        place = peer, wanted.namespace.encode()
        try:
            async with held(self.waiting, *place, seconds, max(size, LEAST)), AsyncExitStack() as stack:
                for limit in (turns,) if peer.is_known else (turns, peer.reads, self.others):
                    await stack.enter_async_context(limit)
                return await self.read(wanted)
        except TimeoutError:
            return dict.fromkeys(wanted.names, Unavailable(LATE))
