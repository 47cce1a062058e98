"""Parsing JSON of any depth: one item of a page does not affect the others."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.wire import LEVELS, read_at_any_depth, read_event, read_object, read_page, shallow

TOO_DEEP = (1000, 1025, 5000, 20_000)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=30,
)


def nested(levels: int) -> bytes:
    """Return an object nested this deep, with brackets in its strings."""
    return b'{"a[":' * levels + b'"}\\""' + b"}" * levels


def depth(value: Any) -> int:
    """Return the number of levels."""
    levels = 0
    while isinstance(value, dict):
        value, levels = value["a["], levels + 1
    return levels


@pytest.mark.parametrize("levels", TOO_DEEP)
async def test_an_object_of_any_depth_is_read_down_to_the_limit(levels: int) -> None:
    found = await read_at_any_depth(read_object, nested(levels))

    assert depth(found) == (LEVELS if levels > 1024 else levels)


@pytest.mark.parametrize("levels", TOO_DEEP)
async def test_a_deep_item_leaves_the_others_of_its_page_unchanged(levels: int) -> None:
    items = b",".join((b'{"n":1}', nested(levels), b'{"n":[[2]]}'))
    body = b'{"metadata":{"resourceVersion":"7","continue":"next"},"items":[' + items + b"]}"

    page = await read_at_any_depth(read_page, body)

    first, _, last = [orjson.loads(bytes(item)) for item in page.items or ()]
    assert (first, last) == ({"n": 1}, {"n": [[2]]})
    assert (page.metadata.version, page.metadata.token) == ("7", "next")


@pytest.mark.parametrize("text", [b"", b"<html>", b'{"a":', b"[1]", b'{"items":[]}', b"{" * 5000, b"]" * 99])
async def test_an_invalid_page_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        await read_at_any_depth(read_page, text)


# --- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", TOO_DEEP)
async def test_an_event_with_a_deep_object_is_read(levels: int) -> None:
    line = b'{"type":"ADDED","object":' + nested(levels) + b"}\n"

    event = await read_at_any_depth(read_event, line)

    assert event.type == "ADDED"
    assert depth(await read_at_any_depth(read_object, bytes(event.object))) >= LEVELS - 1


@pytest.mark.parametrize("line", [b"", b"<html>", b"[1]", b'{"type":5,"object":{}}', b'{"type":"ADDED"}'])
async def test_a_line_that_is_no_event_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        await read_at_any_depth(read_event, line)


# --- cut texts --------------------------------------------------------------------------------------


@given(JSON, st.integers(0, 6))
def test_a_cut_text_is_equal_down_to_its_depth(value: Any, levels: int) -> None:
    assert orjson.loads(shallow(orjson.dumps(value), levels)) == cut(value, levels)


def cut(value: Any, levels: int) -> Any:
    """Replace values nested deeper than `levels` with None."""
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        return None
    if isinstance(value, list):
        return [cut(item, levels - 1) for item in value]
    return {key: cut(item, levels - 1) for key, item in value.items()}
