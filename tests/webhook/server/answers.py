"""Answers for the second process of a test: it imports this module, so it has little to import."""

import os
import pickle
import time
from contextlib import suppress
from typing import Any

from webhook.review import AdmissionAnswer
from webhook.server.offload import EXPENSIVE_SECONDS


class Sooner:
    """End reviews after a twentieth of a second, in the process that unpickles this."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Change the module that runs there."""
        return exec, ("import sys; sys.modules['__main__'].SECONDS = 0.05",)


def endless(_body: bytes) -> AdmissionAnswer:
    while True:
        with suppress(Exception):
            time.sleep(0)


def slow(_body: bytes) -> AdmissionAnswer:
    """Answer after a while in which others have the CPU."""
    time.sleep(10 * EXPENSIVE_SECONDS)
    return AdmissionAnswer(b"", "allowed")


def busy(_body: bytes) -> AdmissionAnswer:
    end = time.process_time() + 2 * EXPENSIVE_SECONDS
    while time.process_time() < end:
        pass
    return AdmissionAnswer(b"", "allowed")


def broken(body: bytes) -> AdmissionAnswer:
    raise KeyError(body)


def ends(_body: bytes) -> AdmissionAnswer:
    os._exit(1)


def twice(_body: bytes) -> AdmissionAnswer:
    """Write one more answer, which would be taken for that of the next request."""
    os.write(1, pickle.dumps(None))
    return AdmissionAnswer(b"", "allowed")
