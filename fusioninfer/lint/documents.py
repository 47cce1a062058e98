"""Read the documents of files, directories and standard input; write objects as YAML or JSON."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fusioninfer.lint.paths import Lines, lines_of
from intent import Object, errors, yaml

SUFFIXES: Final = (".yaml", ".yml", ".json")
STANDARD_INPUT: Final = "-"
SettingsModel = TypeVar("SettingsModel", bound=BaseModel)


class UnreadableFileError(Exception):
    """Raised if a file cannot be read, is not YAML or JSON, or has a document that is not an object."""

    def __init__(self, file: str, problem: str, line: int = 0, column: int = 0) -> None:
        """`line` and `column`: where the error is, from 1; 0 if that is not known."""
        self.file, self.line = printable(file), line
        place = ":".join(str(part) for part in (self.file, line, column) if part)
        super().__init__(f"{place}: {errors.printable(problem)}")


@dataclass(frozen=True, slots=True)
class Document:
    """One object, its file, and its index among the documents of that file (from 1)."""

    file: str
    number: int
    object: Object
    part: str = ""
    """Which of the objects that the document renders to."""
    lines: Lines | None = field(default=None, compare=False, repr=False)
    """The lines of its fields; None: the object was not read from a text."""

    def __str__(self) -> str:
        """Return the location as messages show it."""
        part = f", {self.part}" if self.part else ""
        return f"{self.file} (document {self.number}{part})"

    def line(self, path: str) -> int:
        """Return the line of a field in the file, or of its nearest parent; 0 if lines are not known."""
        return self.lines.below(path).start if self.lines else 0

    def place(self, path: str) -> str:
        """Return where a field is, as messages show it: `FILE:LINE`."""
        line = self.line(path)
        return f"{self.file}:{line}" if line else self.file


def read_all(
    paths: Iterable[str], *, recursive: bool = False
) -> tuple[list[Document], list[UnreadableFileError]]:
    """Read the documents of files, directories and standard input, and return the errors of the others.

    Of a file with a syntax error, the documents before the error are read. `recursive`: also the directories
    below a directory.
    """
    files = dict.fromkeys(file for path in paths for file in _files(path, recursive))
    read = [one for file in files for one in _documents(file)]
    problems = [one for one in read if isinstance(one, UnreadableFileError)]
    return [one for one in read if isinstance(one, Document)], problems


def _files(path: str, recursive: bool) -> list[str | UnreadableFileError]:  # noqa: FBT001 - an option, passed on
    """Return the files of a directory, sorted by name, or the path itself if it is not a directory."""
    try:
        if path == STANDARD_INPUT or not Path(path).is_dir():
            return [path]
        below = Path(path).rglob("*") if recursive else Path(path).iterdir()
        files = sorted(str(file) for file in below if file.suffix in SUFFIXES and not file.is_dir())
    except OSError as error:
        return [UnreadableFileError(path, str(error.strerror))]
    return [*files] if files else [UnreadableFileError(path, f"contains no {', '.join(SUFFIXES)}")]


def _documents(file: str | UnreadableFileError) -> Iterator[Document | UnreadableFileError]:
    if isinstance(file, UnreadableFileError):
        yield file
        return
    name, is_empty = printable(file), True
    try:
        for number, (value, lines) in enumerate(parsed(read_text(file), name), start=1):
            if value is not None:
                is_empty = False
                yield from _flattened(Document(name, number, value, lines=lines))
    except UnreadableFileError as error:
        yield error
    else:
        if is_empty:
            yield Document(name, 1, {})


def printable(file: str) -> str:
    """Return a file name that can be printed, in one line: without bytes that are not UTF-8, and escaped."""
    return errors.printable(file.encode(errors="surrogateescape").decode(errors="replace"))


LARGEST: Final = 256 * 2**20
"""Bytes that are read: a link in a directory may name a device that has no end."""
TOO_LARGE: Final = f"is larger than {LARGEST // 2**20} MiB: divide it into several files"


def read_text(file: str) -> str:
    """Read a file, or standard input. Raises `UnreadableFileError`."""
    if file == STANDARD_INPUT and sys.stdin is None:
        raise UnreadableFileError(file, "standard input is closed")
    try:
        with nullcontext(sys.stdin.buffer) if file == STANDARD_INPUT else Path(file).open("rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UnreadableFileError(file, TOO_LARGE)
        return content.decode("utf-8")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the name
        why = str(error.strerror) if isinstance(error, OSError) else f"is not text in UTF-8: {error}"
        raise UnreadableFileError(file, why) from error


def parse_model(text: str, file: str, model: type[SettingsModel]) -> SettingsModel:
    """Parse the text of a settings file; an empty one has the defaults. Raises `UnreadableFileError`."""
    documents = [value for value, _ in parsed(text, file)]
    try:
        return model.model_validate(documents[0] if documents and documents[0] is not None else {})
    except ValidationError as error:
        known = [field.alias or name for name, field in model.model_fields.items()]
        faults = "; ".join(_fault(one, known) for one in error.errors())
        raise UnreadableFileError(file, faults) from error


def _fault(one: ErrorDetails, known: Iterable[str]) -> str:
    """Return what is wrong with a setting, in the words of findings; `known`: the fields of the file."""
    path = ".".join(map(str, one["loc"])) or "file"
    if one["type"] == "extra_forbidden":
        meant = errors.nearest(path, known) if len(one["loc"]) == 1 else ""
        return f"{path}: unknown field{errors.suggested(meant)}"
    is_bare = one["type"] == "string_type" and isinstance(one["input"], int | float)
    hint = f'; quote it: "{one["input"]}"' if is_bare else ""
    return f"{path}: {re.sub('^(Input|String) should|^Value error, must', 'must', one['msg'])}{hint}"


def parsed(text: str, file: str) -> Iterator[tuple[Any, Lines]]:
    """Parse the documents of a text, with their lines. Raises `UnreadableFileError` with line and column."""
    try:
        for value, node in yaml.load_nodes(text):
            yield value, lines_of(node)
    except yaml.UNREADABLE as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error).partition("\n")[0]
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise UnreadableFileError(file, _explained(said, text, line), line, column) from error


UNRENDERED: Final = "this may be a template that was not rendered: pass the output of "
PLACEHOLDER: Final = re.compile(r"(?<!\$)\$\{[A-Za-z_]\w*[}:]|__[A-Z][A-Z0-9_]*__")
"""A placeholder of envsubst, or of a script that fills in a file."""


def _explained(problem: str, text: str, line: int) -> str:
    """Return an error of the parser, with the tool that has to render the text first, if there is one."""
    found = PLACEHOLDER.search("\n".join(text.split("\n")[max(line - 2, 0) : line]))
    tool = "helm template" if "{{" in text else f"envsubst, which fills in {found[0][:60]}" if found else ""
    return f"{problem}; {UNRENDERED}{tool}" if tool else problem


def _flattened(document: Document) -> Iterator[Document | UnreadableFileError]:
    """Yield the items of a `kind: List` as documents of their own."""
    if not isinstance(document.object, dict):
        yield UnreadableFileError(document.file, "must be an object", document.line(""))
        return
    items = document.object.get("items")
    if document.object.get("kind") != "List" or not isinstance(items, list):
        yield document
        return
    for at, item in enumerate(items):
        lines = document.lines.below(f"items[{at}]") if document.lines else None
        yield from _flattened(replace(document, object=item, lines=lines))


def write_yaml(objects: Iterable[Object]) -> str:
    """Render objects as a stream of YAML documents."""
    return "---\n".join(yaml.dump(one) for one in objects)


def write_json(objects: list[Object]) -> str:
    """Render objects as kubectl does: one by itself, several as a `kind: List`."""
    whole = objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects}
    return to_json(whole) + "\n"


def to_json(value: Any) -> str:
    """Render a value as JSON, indented; nothing in it controls a terminal."""
    written = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return errors.printable(written, "\n", lambda char: json.dumps(char)[1:-1])
