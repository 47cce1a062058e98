"""A limit on the rate of requests, so that one client leaves the API server to the others."""

import asyncio
import time
from dataclasses import dataclass
from typing import Final

BURST: Final = 1.0
"""Seconds whose requests may be sent at once after a rest."""


@dataclass(slots=True)
class Limit:
    """At most `rate` requests a second; 0 is no limit."""

    rate: float = 0.0
    free_at: float = 0.0
    """When the next request may be sent, without a burst, on the clock of `time.monotonic`."""

    async def wait(self) -> None:
        """Wait until a request may be sent; requests are sent in the order in which they ask."""
        if self.rate <= 0:
            return
        now = time.monotonic()
        self.free_at = max(self.free_at, now - BURST) + 1 / self.rate
        if self.free_at > now:
            await asyncio.sleep(self.free_at - now)
