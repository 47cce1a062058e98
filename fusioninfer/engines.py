"""Facts about engines: read the operator's file, whose rows come before the built-in ones, and print tables.

The page docs/engines.md has an example of the file.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

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
from fusioninfer.lint.documents import read_model
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


_Version = Annotated[Version, BeforeValidator(_version)]
_Ray = Annotated[Ray, BeforeValidator(_ray)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Row(_Model):
    source: str = Field(min_length=1)


class _ImageRow(_Row):
    """A row of `images`. Unlike in `Stock`, versions and Ray are text."""

    repository: str = Field(min_length=1)
    engine: str = Field("vllm", pattern=f"^({'|'.join(PRODUCTS)})$")
    tag: str = "*"
    since: _Version = ()
    below: _Version = NEWEST
    version: _Version = ()
    entrypoint: Entrypoint = ""
    ray: _Ray = UNKNOWN_RAY


class _ConnectorRow(_Row):
    name: str = Field(min_length=1)
    since: _Version = ()
    below: _Version = NEWEST


class _ModelRow(_Row):
    name: str = Field(min_length=1)
    experts: bool = False


class EnginesFile(_Model):
    """The schema of the file."""

    images: tuple[_ImageRow, ...] = ()
    connectors: tuple[_ConnectorRow, ...] = ()
    models: tuple[_ModelRow, ...] = ()


def read(path: Path) -> Engines:
    """Read an operator's file, and put its rows first. Raises `UnreadableFileError`, naming the field."""
    found = read_model(path, EnginesFile)
    images = tuple(Stock(**dict(row)) for row in found.images)
    connectors = tuple(Connector(**dict(row)) for row in found.connectors)
    models = tuple(KnownModel(**dict(row)) for row in found.models)
    return Engines(
        images + ENGINES.images, ENGINES.traits, connectors + ENGINES.connectors, models + ENGINES.models
    )


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
