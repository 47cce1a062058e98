"""Read the settings file (YAML) into a frozen `Settings`, for the servers and the offline subcommands."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel

from catalog.pickers.generations import PICKERS, SPLITTING
from fusioninfer import engines
from fusioninfer.lint.documents import parse_model, read_text
from intent.annotations import AUTO, NONE
from intent.settings import Settings
from intent.shapes import text
from webhook.launchers import LAUNCHERS

_DEFAULTS: Final = Settings()


def _switch(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, list | tuple) and all(map(text, value))):
        return value
    raise ValueError("must be on, off, or a list of names")


_NAMES: Final = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
"""A list, which is kept as a tuple."""
_SWITCH: Final = Annotated[bool | _NAMES, BeforeValidator(_switch)]
_RULES: Final[dict[str, Any]] = {
    "scheduler_name": Annotated[str, Field(min_length=1)],
    "launcher": Literal[(*LAUNCHERS, AUTO, NONE)],
    "accelerator": Annotated[str, Field(pattern=r"^([a-z0-9.-]+/[A-Za-z0-9._-]+)?$")],
    "picker": Literal[*PICKERS],
    "disaggregated_picker": Literal[*SPLITTING],
    "gateways": _SWITCH,
    "namespaces": _NAMES,
    "ingresses": _SWITCH,
    "picker_registry": Annotated[str, Field(pattern=r"^([^/\s]+(/[^/\s]+)*)?$")],
    "picker_image_pull_secrets": _NAMES,
    "picker_tolerations": Annotated[tuple[dict[str, Any], ...], Field(strict=False)],
    "storage_initializer_image": Annotated[str, Field(pattern=r"^\S+$")],
    "kubernetes_version": Annotated[str, Field(pattern=r"^(v?\d+\.\d+\S*)?$")],
    "picker_replicas": Annotated[int, Field(ge=1, le=9)],
}
"""The fields whose values are restricted."""


_FIELDS: Final[dict[str, Any]] = {
    field.name: (_RULES.get(field.name, field.type), getattr(_DEFAULTS, field.name))
    for field in fields(Settings)
} | {"engines": (str, "")}
SettingsFile: Final[type[BaseModel]] = create_model(
    "SettingsFile",
    __config__=ConfigDict(extra="forbid", strict=True, alias_generator=to_camel),
    **_FIELDS,
)
"""The schema of the file: the fields of `Settings`, in camel case. An unknown field is an error.

`engines` is the path, relative to this file, of a file with facts about engines (`fusioninfer.engines`).
"""


def read(path: Path | None) -> Settings:
    """Read a settings file; None means the defaults. Raises `UnreadableFileError`, which names the field."""
    if path is None:
        return _DEFAULTS
    settings, file = parse(read_text(str(path)), str(path))
    return replace(settings, engines=engines.read(path.parent / file)) if file else settings


def parse(content: str, name: str) -> tuple[Settings, str]:
    """Parse the text of a settings file; return the settings, and the path of its file about engines.

    Raises `UnreadableFileError`, which names the field.
    """
    values = parse_model(content, name, SettingsFile).model_dump()
    file = values.pop("engines")
    return Settings(**values), file
