"""The second process, which answers expensive admission requests: `python -m webhook.server.worker`.

It reads pickles from standard input and writes one to standard output for each. The first is a map from path
to callable; the answer to it is None, and means that the process is ready. Each later one is a path and a
body. An answer is the body, the outcome, and the CPU seconds that it took.
"""

import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable, Mapping
from time import process_time
from typing import Any, Final, NoReturn

import orjson

from webhook.review import AdmissionAnswer, Malformed
from webhook.server.traces import origin

NICE: Final = 15
"""The niceness, so that the webhook's own process, which answers all other requests, runs first."""
SECONDS: Final = 1.0
"""CPU seconds after which a review ends without an answer."""


class _SlowError(BaseException):
    """A review took too long; nothing that it calls may catch this."""


def main() -> None:
    """Answer until standard input ends."""
    os.nice(NICE)
    signal.signal(signal.SIGPROF, _end_review)
    answers: Mapping[str, Callable[[bytes], AdmissionAnswer]] = _read()
    gc.freeze()
    _write(None)
    while True:
        try:
            path, body = _read()
        except EOFError:
            return
        begun = process_time()
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            answer = answered(answers[path], body)
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        except _SlowError:
            answer = AdmissionAnswer(b"", "slow")
        _write((*answer, process_time() - begun))


def _end_review(_number: int, _frame: Any) -> NoReturn:
    raise _SlowError


def answered(review: Callable[[bytes], AdmissionAnswer], body: bytes) -> AdmissionAnswer:
    """Review a body; also the webhook's own process does it like this."""
    try:
        return review(body)
    except Malformed as error:
        return AdmissionAnswer(str(error).encode(errors="replace"), "malformed")
    except Exception as error:  # noqa: BLE001 - a bug in one request must not end the process
        return AdmissionAnswer(orjson.dumps(origin(error)), "bug")


def _read() -> Any:
    return pickle.load(sys.stdin.buffer)  # noqa: S301 - our parent wrote it


def _write(answer: object) -> None:
    pickle.dump(answer, sys.stdout.buffer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
