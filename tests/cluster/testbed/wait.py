"""Wait for a thing to become true, and say what did not."""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.builders.patience import PATIENCE

T = TypeVar("T")


def until(check: Callable[[], T], what: str, *, seconds: float = PATIENCE, every: float = 0.05) -> T:
    """Ask until the answer is true, and return it; raise TimeoutError with what was awaited."""
    deadline = time.monotonic() + seconds
    while True:
        answer = check()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {what}; last answer: {answer!r}")
        time.sleep(every)
