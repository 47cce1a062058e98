"""Parse the JSON of an API server, such that one deeply nested object cannot make the others unreadable.

The API server accepts 10,000 levels (Go `encoding/json`); orjson parses 1024 and writes 254, msgspec parses
as deep as Python's stack allows. In a text that these refuse, values below `LEVELS` become null. `LEVELS` is
more than `sync.observed.cached.digest` accepts, so an object that was cut never counts as completely read.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import msgspec
import orjson

from intent.annotations import SERVICE

T = TypeVar("T")
LONG: Final = 2**16
"""Bytes of JSON above which one text is parsed in a turn of the event loop."""
_TURNS: Final = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()
LEVELS: Final = 300
"""Levels that `shallow` keeps."""
_MARKS: Final = re.compile(rb'[{}\[\]]|"[^"\\]*(?:\\.[^"\\]*)*"')
"""Brackets, and strings, in which brackets have no meaning."""


class _ListMetadata(msgspec.Struct):
    version: str = msgspec.field(name="resourceVersion")
    token: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct):
    """One page of a list (`metav1.List`); its items are unparsed JSON."""

    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


class WatchEvent(msgspec.Struct):
    """One event of a watch (`metav1.WatchEvent`); its object is unparsed JSON."""

    type: str
    object: msgspec.Raw


class _Labels(msgspec.Struct):
    service: str = msgspec.field(name=SERVICE, default="")


class ObjectMeta(msgspec.Struct):
    """What a watch needs of `metav1.ObjectMeta`; a bookmark has no name, and a Namespace no namespace."""

    version: str = msgspec.field(name="resourceVersion")
    namespace: str = ""
    name: str = ""
    uid: str = ""
    labels: _Labels = msgspec.field(default_factory=_Labels)


class Head(msgspec.Struct):
    """An object without its content."""

    metadata: ObjectMeta


def _reader(shape: type[T], problem: str) -> Callable[[bytes], T]:
    """Return a function that reads JSON of a shape.

    It raises ValueError, or RecursionError if the JSON is nested too deeply.
    """
    decode = msgspec.json.Decoder(shape).decode

    def read(body: bytes) -> T:
        try:
            return decode(body)
        except msgspec.MsgspecError as error:
            raise ValueError(f"{problem}: {error}") from error

    return read


read_page: Final = _reader(Page, "the answer is not a list")
"""Split a page into its items."""
read_event: Final = _reader(WatchEvent, "the line is not an event of a watch")
"""Read one line of a watch."""
read_head: Final = _reader(Head, "this is no object of an API server")
"""Read which object this is."""


def read_object(body: bytes) -> Any:
    """Parse any JSON. Raises ValueError, also if it is nested too deeply."""
    return orjson.loads(body)


def shallow(text: bytes, levels: int = LEVELS) -> bytes:
    """Replace every value nested deeper than `levels` with null, in a JSON text of any depth."""
    kept: list[bytes] = []
    depth, start = 0, 0
    for mark in _MARKS.finditer(text):
        character = text[mark.start()]
        if character in b"{[":
            depth += 1
            if depth == levels + 1:
                kept += (text[start : mark.start()], b"null")
        elif character in b"}]":
            if depth == levels + 1:
                start = mark.end()
            depth -= 1
    return b"".join((*kept, text[start:])) if kept else text


async def read_at_any_depth(read: Callable[[bytes], T], text: bytes) -> T:
    """Parse JSON; if it is nested too deeply, cut it with `shallow` first, in a thread, as that is slow.

    Long texts take turns: each kind may have one at the same time, each takes up to 30 ms, and all the while
    the Lease must be renewed, which takes several turns of the event loop.
    """
    try:
        if len(text) <= LONG:
            return read(text)
        async with _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            await asyncio.sleep(0)
            return read(text)
    except (ValueError, RecursionError):
        return read(await asyncio.to_thread(shallow, text))
