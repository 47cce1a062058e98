"""Reads the JSON of an API server, so that one object cannot keep the others from being read.

An object may be nested as deep as its author likes: the API server takes 10,000 levels (Go `encoding/json`),
orjson reads 1024 and writes 254, msgspec reads what Python's stack allows. A text that is refused is made
shallow: values below `LEVELS` become null. `LEVELS` is more than `sync.observed.cached.digest` takes, so an
object
that was cut is never taken for one that was read in full.
"""

import re
from typing import Any, Final

import msgspec
import orjson

LEVELS: Final = 300
"""Levels that are kept of a text that is nested too deep."""
_MARKS: Final = re.compile(rb'[{}\[\]]|"[^"\\]*(?:\\.[^"\\]*)*"')
"""Brackets, and strings, in which brackets mean nothing."""


class _Metadata(msgspec.Struct):
    version: str = msgspec.field(name="resourceVersion")
    token: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct):
    """One page of a list (`metav1.List`). Each item is still JSON."""

    metadata: _Metadata
    items: list[msgspec.Raw] | None = None


_PAGE: Final = msgspec.json.Decoder(Page)


def read_page(body: bytes) -> Page:
    """Split a page into its items. Raises ValueError, or RecursionError if one is nested too deep."""
    try:
        return _PAGE.decode(body)
    except msgspec.MsgspecError as error:
        raise ValueError(f"the answer is no list: {error}") from error


def read_object(body: bytes) -> Any:
    """Read any JSON. Raises ValueError, also if it is nested too deep."""
    return orjson.loads(body)


def shallow(text: bytes, levels: int = LEVELS) -> bytes:
    """Replace each value that is nested deeper than `levels` by null; takes a text of any depth."""
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
