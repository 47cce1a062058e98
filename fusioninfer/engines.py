"""Facts about engines: read the operator's file, whose rows come before the built-in ones, and print tables.

The page docs/engines.md has an example of the file.
"""

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from catalog.engines import (
    ENGINES,
    NEWEST,
    NO_RAY,
    PRODUCTS,
    UNKNOWN_RAY,
    Connector,
    Engines,
    Entrypoint,
    KnownModel,
    Ray,
    Stock,
    Trait,
    Version,
    described,
    shown,
)
from fusioninfer.lint.documents import parse_model, read_text
from intent.annotations import AUTO
from intent.launch import read_launch
from intent.lws import Engine, Template
from webhook.launchers.plan import ASSUMED, choose

_VERSION: Final = re.compile(r"v?[0-9]{1,4}(\.[0-9]{1,4}){0,3}")


def _version(text: Any) -> Version:
    if not isinstance(text, str) or not _VERSION.fullmatch(text):
        raise ValueError(f"must be a version in quotes, for example '0.17.1', not {text!r}")
    return tuple(int(part) for part in text.removeprefix("v").split("."))


def _ray(text: Any) -> Ray:
    if text == "none":
        return NO_RAY
    lowest, _, highest = text.partition(" - ") if isinstance(text, str) else (text, "", "")
    return Ray(_version(lowest), _version(highest or lowest))


_VERSIONS: Final = Annotated[Version, BeforeValidator(_version)]
_NAME: Final = Annotated[str, Field(min_length=1)]
_COLUMNS: Final[dict[str, Any]] = {
    "source": (_NAME, ...),
    "repository": (_NAME, ...),
    "name": (_NAME, ...),
    "engine": (Annotated[str, Field(pattern=f"^({'|'.join(PRODUCTS)})$")], "vllm"),
    "tag": (str, "*"),
    "since": (_VERSIONS, ()),
    "below": (_VERSIONS, NEWEST),
    "version": (_VERSIONS, ()),
    "entrypoint": (Entrypoint, ""),
    "ray": (Annotated[Ray, BeforeValidator(_ray)], UNKNOWN_RAY),
    "experts": (bool, False),
}
"""What an operator may write in a row, with defaults. Unlike in the catalogue, versions and Ray are text."""
_CONFIG: Final = ConfigDict(extra="forbid")


def _rows(row: type) -> Any:
    """Return the field of a table, whose rows have the fields of the catalogue's."""
    known = {one.name for one in fields(row)}
    columns = {name: column for name, column in _COLUMNS.items() if name in known}
    return tuple[create_model(row.__name__, __config__=_CONFIG, **columns), ...], ()  # type: ignore[misc]


TABLES: Final = {"images": Stock, "connectors": Connector, "models": KnownModel}
"""The tables that an operator may extend."""
EnginesFile: Final[type[BaseModel]] = create_model(
    "EnginesFile", __config__=_CONFIG, **{name: _rows(row) for name, row in TABLES.items()}
)
"""The schema of the file."""


def read(path: Path) -> Engines:
    """Read an operator's file, and put its rows first. Raises `UnreadableFileError`, naming the field."""
    file = parse_model(read_text(str(path)), str(path), EnginesFile)
    own = {name: [row(**dict(one)) for one in getattr(file, name)] for name, row in TABLES.items()}
    return replace(ENGINES, **{name: (*rows, *getattr(ENGINES, name)) for name, rows in own.items()})


def tables(engines: Engines) -> dict[str, list[dict[str, str]]]:
    """Return the facts as rows of text: images, traits, connectors and models."""
    return {
        "images": [_image(row, engines) for row in engines.images],
        "traits": [{"engine": row.engine, "trait": row.name} | _since(row) for row in engines.traits],
        "connectors": [{"connector": row.name} | _since(row) for row in engines.connectors],
        "models": [
            {"model": row.name, "experts": "yes" if row.experts else "no", "source": row.source}
            for row in engines.models
        ],
    }


def _since(row: Trait | Connector) -> dict[str, str]:
    return {"versions": span(row.since, row.below), "source": row.source}


_PLAIN: Final = {"vllm": ("vllm", "serve", "M"), "sglang": ("sglang", "serve", "M")}


def _auto(row: Stock, engines: Engines) -> str:
    """Return the launcher that `auto` chooses for the images of a row, unless a flag requires another one."""
    first = (*row.since, 0, 0, 0)[:3]
    tag = f"v{shown(first)}" if row.since or row.below != NEWEST else "any"
    engine = Engine("engine", f"image:{tag}", _PLAIN.get(row.engine, ()))
    alone = replace(engines, images=(replace(row, repository="image", tag="*"),))
    choice = choose((read_launch(Template("workerTemplate", engine), engine, alone),), AUTO, AUTO)
    return choice.launcher + (" (assumed)" if choice.code == ASSUMED else "") if choice.starts else ""


def _image(row: Stock, engines: Engines) -> dict[str, str]:
    return {
        "repository": row.repository,
        "tag": row.tag,
        "engine": row.engine,
        "versions": shown(row.version) if row.version else span(row.since, row.below),
        "entrypoint": row.entrypoint,
        "ray": described(row.ray),
        "auto": _auto(row, engines),
        "source": row.source,
    }


def span(since: Version, below: Version) -> str:
    """Render a range of versions: `0.9 - < 0.24`."""
    if below == NEWEST:
        return f">= {shown(since)}" if since else "all"
    return f"{shown(since)} - < {shown(below)}" if since else f"< {shown(below)}"
