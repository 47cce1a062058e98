"""Read the settings file (YAML) into a frozen `Settings`, for the servers and the offline subcommands."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from catalog.engines import ENGINES
from catalog.pickers.generations import PICKERS, SPLITTING
from fusioninfer import engines
from fusioninfer.documents import Unreadable, load_yaml, read_text
from intent.launch import AUTO, NONE
from intent.settings import Settings
from webhook.launchers import LAUNCHERS

_DEFAULTS = Settings()


class SettingsFile(BaseModel):
    """The schema of the file. Every field has a default; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)

    scheduler_name: str = Field(_DEFAULTS.scheduler_name, alias="schedulerName", min_length=1)
    launcher: str = Field(_DEFAULTS.launcher, pattern=f"^({'|'.join((*LAUNCHERS, AUTO, NONE))})$")
    queue: str = _DEFAULTS.queue
    volcano_version: str = Field(
        _DEFAULTS.volcano_version, alias="volcanoVersion", pattern=r"^(\d+\.\d+\.\d+)?$"
    )
    picker: str = Field(_DEFAULTS.picker, pattern=f"^({'|'.join(PICKERS)})$")
    disaggregated_picker: str = Field(
        _DEFAULTS.disaggregated_picker, alias="disaggregatedPicker", pattern=f"^({'|'.join(SPLITTING)})$"
    )
    picker_replicas: int = Field(_DEFAULTS.picker_replicas, alias="pickerReplicas", ge=1, le=9)
    secure_serving: bool = Field(_DEFAULTS.secure_serving, alias="secureServing")
    destination_rules: bool = Field(_DEFAULTS.destination_rules, alias="destinationRules")
    observe_only: bool = Field(_DEFAULTS.observe_only, alias="observeOnly")
    engines: str = ""
    """The path, relative to this file, of a file with facts about engines (`fusioninfer.engines`)."""


def read(path: Path | None) -> Settings:
    """Read a settings file; None means the defaults. Raises `Unreadable`, which names the field."""
    if path is None:
        return _DEFAULTS
    found = load_yaml(read_text(str(path)), str(path)) or [{}]
    try:
        values = SettingsFile.model_validate(found[0]).model_dump()
    except ValidationError as error:
        lines = (f"{'.'.join(map(str, one['loc'])) or 'file'}: {one['msg']}" for one in error.errors())
        raise Unreadable(f"{path}: {'; '.join(lines)}") from error
    file = values.pop("engines")
    return Settings(**values, engines=engines.read(path.parent / file) if file else ENGINES)
