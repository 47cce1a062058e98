"""Wait for a thing to become true, and say what did not; do something all the time meanwhile."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def kept_doing(*each: Callable[[], object], every: float = 0.05) -> Iterator[None]:
    """Do each again and again until left, `every` seconds after the last time; raise what one raises."""
    ended, errors = threading.Event(), list[Exception]()

    def go(do: Callable[[], object]) -> None:
        try:
            while not ended.wait(every):
                do()
        except Exception as error:  # noqa: BLE001 - raised again when it is left
            errors.append(error)

    threads = [threading.Thread(target=go, args=(do,), daemon=True) for do in each]
    for one in threads:
        one.start()
    try:
        yield
    finally:
        ended.set()
        for one in threads:
            one.join()
        if errors:
            raise ExceptionGroup("", errors)
