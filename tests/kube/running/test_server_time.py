"""The time of the API server counts, whatever the clock of this machine says."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kube.server_time import ServerTime

TOLD = datetime(2026, 1, 1, 12, tzinfo=UTC)
LOCAL = TOLD + timedelta(days=400)


@pytest.fixture
def seconds() -> list[float]:
    """Return the steady clock, as one number that a test changes."""
    return [100.0]


@pytest.fixture
def server(seconds: list[float]) -> ServerTime:
    return ServerTime(lambda: LOCAL, lambda: seconds[0])


def test_before_the_first_answer_the_local_clock_is_used(server: ServerTime) -> None:
    assert server.now() == LOCAL


def test_the_date_of_an_answer_goes_on_by_the_steady_clock(server: ServerTime, seconds: list[float]) -> None:
    server.hear(format_datetime(TOLD, usegmt=True))
    seconds[0] += 5

    assert server.now() == TOLD + timedelta(seconds=5)


@pytest.mark.parametrize(
    "date", ["", "yesterday", "Thu, 01 Jan 2026 12:00:00", "Thu, 99 Jan 2026 12:00:00 GMT"]
)
def test_what_is_no_date_with_a_zone_is_ignored(server: ServerTime, date: str) -> None:
    server.hear(date)

    assert server.now() == LOCAL
