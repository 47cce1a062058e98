"""Many LeaderWorkerSets that differ in all that a cache could keep: names, images, models, values."""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Final

import orjson

from intent import Object
from webhook import review

COUNT: Final = 64
_WORDS: Final = {
    b"deepseek": b"model-%02d",
    b"DeepSeek-R1": b"Answering%02d",
    b"VARIABLE": b"SETTING%d",
    b"value ": b"is %02d ",
    b"volume": b"disk%02d",
    b":v0.17.1": b":v0.17.%d",
}
"""Each is as long as what it stands for, so that all bodies are of one length."""


def varied(live: Object, count: int = COUNT) -> list[Object]:
    """Write an object in so many ways, all of one length."""
    text = orjson.dumps(live)
    return [orjson.loads(_with(text, at)) for at in range(count)]


def _with(text: bytes, at: int) -> bytes:
    for word, other in _WORDS.items():
        text = text.replace(word, other % (at % 10 if b"%d" in other else at))
    return text


def in_turn(bodies: Sequence[bytes]) -> Callable[[bytes], review.AdmissionAnswer]:
    """Send another body with each call; the one that is asked for tells only how long they are."""
    rotation = cycle(bodies)
    return lambda _sent: review.mutate(next(rotation))
