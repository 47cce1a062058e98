"""The time of the API server, from the `Date` of its answers (RFC 9110, 6.6.1).

The clock of this machine may be wrong, or jump. What other machines check, such as the validity of a
certificate, is decided by theirs.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime


def _local() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class ServerTime:
    """The time of the last answer, and when it came."""

    local: Callable[[], datetime] = _local
    """The clock of this machine, for as long as no answer had a date."""
    steady: Callable[[], float] = time.monotonic
    answered: tuple[datetime, float] | None = None
    """The date of the last answer, and when it came on the steady clock."""

    def hear(self, date: str) -> None:
        """Record the `Date` of an answer; one that is no date is ignored."""
        try:
            told = parsedate_to_datetime(date)
        except ValueError:
            return
        if told.tzinfo:
            self.answered = told, self.steady()

    def now(self) -> datetime:
        """Return the time of the API server now."""
        if self.answered is None:
            return self.local()
        told, at = self.answered
        return told + timedelta(seconds=self.steady() - at)
