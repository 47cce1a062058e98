"""Files that people write, as documents: a file, a directory, `-`, several documents, a `kind: List`."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson
import yaml as pyyaml

from intent import Object, yaml

SUFFIXES: Final = (".yaml", ".yml", ".json")
STANDARD_INPUT: Final = "-"


class Unreadable(Exception):  # noqa: N818 - what it says is the adjective
    """A file that cannot be read, is not YAML or JSON, or holds something that is not an object."""


@dataclass(frozen=True, slots=True)
class Document:
    """One object, and where it stands: its file, and the how-manieth document it is there (from 1)."""

    file: str
    number: int
    object: Object
    part: str = ""
    """Which object it is, of those that the document becomes."""

    def __str__(self) -> str:
        """Say where it stands, as messages say it."""
        part = f", {self.part}" if self.part else ""
        return f"{self.file} (document {self.number}{part})"


def read(paths: Iterable[str]) -> list[Document]:
    """Read every document of the given files, directories and standard input. Raises `Unreadable`."""
    return [document for path in paths for file in _files(path) for document in _documents(file)]


def _files(path: str) -> list[str]:
    """List a directory, in order of name; take anything else as a file."""
    if path == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    found = sorted(str(file) for file in Path(path).iterdir() if file.suffix in SUFFIXES)
    if not found:
        raise Unreadable(f"{path}: holds no {', '.join(SUFFIXES)}")
    return found


def _documents(file: str) -> Iterator[Document]:
    for number, value in enumerate(load_yaml(_text(file), file), start=1):
        if value is not None:
            yield from _flattened(Document(file, number, value))


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{file}: {error.strerror if isinstance(error, OSError) else error}") from error


def load_yaml(text: str, file: str) -> list[Any]:
    """Read the documents of a text; JSON is YAML too. Raises `Unreadable` with line and column."""
    try:
        return list(yaml.load(text))
    except pyyaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise Unreadable(f"{file}{where}: {getattr(error, 'problem', None) or error}") from error
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{file}: {error}") from error


def _flattened(document: Document) -> Iterator[Document]:
    """Take the items of a `kind: List` as documents of their own."""
    if not isinstance(document.object, dict):
        raise Unreadable(f"{document}: must be an object, not {type(document.object).__name__}")
    items = document.object.get("items")
    if document.object.get("kind") != "List" or not isinstance(items, list):
        yield document
        return
    for item in items:
        yield from _flattened(replace(document, object=item))


def write_yaml(objects: Iterable[Object]) -> str:
    """Write objects as one stream of documents."""
    return "---\n".join(yaml.dump(one) for one in objects)


def write_json(objects: list[Object]) -> str:
    """Write objects as kubectl does: one alone, several as a `kind: List`."""
    whole = objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
