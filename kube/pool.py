"""A number of bytes of memory that many tasks share, such that no namespace takes all of it."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

NOBODY: Final = ""
"""In place of a namespace: bytes that are not known to be of one, such as a page."""


@dataclass(slots=True)
class BytePool:
    """Bytes that are held, by namespace. One namespace may hold as many as are left (ADR 52).

    So alone it gets half of them, the next one a quarter: none can keep the others from any.
    """

    size: int
    held: Counter[str] = field(default_factory=Counter)
    total: int = 0
    given: asyncio.Event = field(default_factory=asyncio.Event)

    def fits(self, namespace: str, more: int) -> bool:
        """Return whether a namespace may hold so many bytes more; it may always hold fewer."""
        return more <= 0 or self.held[namespace] + more <= self.size - self.total - more

    async def room(self, namespace: str) -> None:
        """Wait until a namespace may hold more. What is taken then may exceed its share once."""
        while self.held[namespace] > self.size - self.total:
            self.given.clear()
            await self.given.wait()

    def take(self, namespace: str, size: int) -> None:
        """Hold bytes; a negative number gives some back."""
        self.total += size
        self.held[namespace] += size
        if not self.held[namespace]:
            del self.held[namespace]
        if size < 0:
            self.given.set()
