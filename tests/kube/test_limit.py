"""A limited client sends at most so many requests a second."""

import time

from kube.limit import BURST, RateLimit


async def seconds_of(limit: RateLimit, requests: int) -> float:
    since = time.monotonic()
    for _ in range(requests):
        await limit.wait()
    return time.monotonic() - since


async def test_without_a_rate_nothing_waits() -> None:
    limit = RateLimit()

    await seconds_of(limit, 10_000)

    assert limit.free_at == 0.0


async def test_after_a_burst_requests_wait_for_the_rate() -> None:
    rate, beyond = 40.0, 12
    limit = RateLimit(rate)

    assert await seconds_of(limit, int(rate * BURST) + beyond) >= beyond / rate * 0.9


async def test_a_long_rest_allows_one_burst_only() -> None:
    rate, beyond = 40.0, 12
    limit = RateLimit(rate, free_at=time.monotonic() - 3600.0)

    assert await seconds_of(limit, int(rate * BURST) + beyond) >= beyond / rate * 0.9
