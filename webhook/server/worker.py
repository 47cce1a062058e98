"""The second process, which answers expensive admission requests: `python -m webhook.server.worker`.

It reads frames from standard input and writes one to standard output for each. A frame is its length (4
bytes, big endian) and its content. The first frame is a pickled map from path to callable; the answer to it
is empty, and means that the process is ready. Each later frame is a path, a zero byte and a body. An answer
is the CPU seconds that it took, a space, the outcome, a zero byte, and the content (`Answered`).
"""

import gc
import os
import pickle
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from time import process_time
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn

import orjson

from webhook.review import AdmissionAnswer, Malformed
from webhook.server.traces import origin

LENGTH: Final = struct.Struct(">I")
NICE: Final = 15
"""The niceness, so that the webhook's own process, which answers all other requests, runs first."""
SECONDS: Final = 1.0
"""CPU seconds after which a review ends without an answer."""


class Answered(NamedTuple):
    """How a review ended: an outcome of `webhook.review`, or `malformed`, `slow`, `late` or `bug`.

    The content is the body of the answer, the text of the refusal, or JSON for the log. `late`: it was not
    begun, since the caller's deadline had passed.
    """

    outcome: str
    content: bytes = b""


class _SlowError(BaseException):
    """A review took too long; nothing that it calls may catch this."""


def main() -> None:
    """Answer until standard input ends."""
    os.setpgid(
        0, 0
    )  # no signal of a terminal; of another session, Linux would ignore the niceness (`sched(7)`)
    os.nice(NICE)
    signal.signal(signal.SIGPROF, _end_review)
    answers: Mapping[str, Callable[[bytes], AdmissionAnswer]] = pickle.loads(_read(sys.stdin.buffer) or b"")  # noqa: S301 - our parent wrote it
    gc.freeze()
    _write(b"")
    while (frame := _read(sys.stdin.buffer)) is not None:
        path, _, body = frame.partition(b"\0")
        begun = process_time()
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            found = answered(answers[path.decode()], body)
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        except _SlowError:
            found = Answered("slow")
        _write(b"%.6f %b\0%b" % (process_time() - begun, found.outcome.encode(), found.content))


def _end_review(_number: int, _frame: Any) -> NoReturn:
    raise _SlowError


def answered(review: Callable[[bytes], AdmissionAnswer], body: bytes) -> Answered:
    """Review a body; also the webhook's own process does it like this."""
    try:
        answer = review(body)
    except Malformed as error:
        return Answered("malformed", str(error).encode(errors="replace"))
    except Exception as error:  # noqa: BLE001 - a bug in one request must not end the process
        return Answered("bug", orjson.dumps(origin(error)))
    return Answered(answer.outcome, answer.body)


def _write(answer: bytes) -> None:
    """Write one frame."""
    sys.stdout.buffer.write(LENGTH.pack(len(answer)) + answer)
    sys.stdout.buffer.flush()


def _read(stream: BinaryIO) -> bytes | None:
    """Read one frame; None at the end of the stream."""
    head = stream.read(LENGTH.size)
    return stream.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else None


if __name__ == "__main__":
    main()
