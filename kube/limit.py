"""A limit on the rate of requests, so that one client leaves the API server to the others."""

import asyncio
import time
from dataclasses import dataclass
from typing import Final

BURST: Final = 1.0
"""Seconds whose requests may be sent at once after a rest."""


@dataclass(slots=True)
class RateLimit:
    """At most `rate` requests a second; 0 is no limit."""

    rate: float = 0.0
    free_at: float = 0.0
    """When the next request may be sent, without a burst, on the clock of `time.monotonic`."""
    delayed_until: float = -BURST
    """When the last request that had to wait may be sent."""

    @property
    def delays(self) -> bool:
        """Whether requests have to wait: the last one of them is to be sent, or was sent a moment ago."""
        return time.monotonic() < self.delayed_until + BURST

    async def wait(self) -> None:
        """Wait until a request may be sent; requests are sent in the order in which they ask."""
        if self.rate <= 0:
            return
        now = time.monotonic()
        self.free_at = max(self.free_at, now - BURST) + 1 / self.rate
        if self.free_at > now:
            self.delayed_until = self.free_at
            await asyncio.sleep(self.free_at - now)
