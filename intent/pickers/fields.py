"""Checks of a value against the field table of an endpoint picker's configuration."""

from collections.abc import Iterator
from typing import Any

from catalog.pickers.fields import KINDS, Fields, Shape
from intent.errors import nearest, suggested


def misfits(value: Any, shape: Shape, reader: str, where: str = "") -> Iterator[str]:
    """Report values of another shape; null means an absent field."""
    if value is None:
        return
    if isinstance(shape, str):
        called, fits = KINDS[shape]
        if not fits(value):
            yield f"{where}: must be {called}"
    elif isinstance(shape, list):
        yield from _in_list(value, shape[0], reader, where)
    else:
        yield from _in_map(value, shape, reader, where)


def _in_list(value: Any, item: Shape, reader: str, where: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{where}: must be a list"
        return
    for at, each in enumerate(value):
        yield from misfits(each, item, reader, f"{where}[{at}]")


def _in_map(value: Any, fields: Fields, reader: str, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: must be a map"
        return
    for name, each in value.items():
        path = f"{where}.{name}" if where else str(name)
        if name in fields:
            yield from misfits(each, fields[name], reader, path)
        else:
            yield f"{path}: {reader} has no such field{suggested(nearest(str(name), fields))}"
