"""Count calls: a cost that is the same on every machine."""

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType


def by_file(code: CodeType) -> str:
    """Return the file of a function."""
    return code.co_filename


@contextmanager
def counted(key: Callable[[CodeType], str] = by_file) -> Iterator[Counter[str]]:
    """Count the calls of Python functions, and the resumptions of generators, by file or another key.

    No garbage is collected meanwhile: that calls the finalizers of what earlier tests left.
    """
    calls = Counter[str]()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            calls[key(frame.f_code)] += 1

    gc.disable()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        gc.enable()
