"""The block `lora`: the flags by which an engine serves LoRA adapters, each adapter as a list item.

An author's own list of adapters stays, and must have those of the annotation: engines read one list only.
Sources: vLLM `vllm/config/lora.py`, `vllm/entrypoints/common/cli_args.py`; SGLang `srt/server_args.py`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from intent import annotations as keys
from intent.command_line.flags import SERVED_NAME, Flag, resolve
from intent.errors import FieldError
from intent.launch import Launch, model_of, spelled, values_of
from intent.lora import LIMITS, Lora
from intent.lws import Intent
from intent.settings import Settings
from intent.shapes import mapping, text
from webhook.blocks.block import Block, BlockArguments, contradiction
from webhook.launchers.container import Args


@dataclass(frozen=True, slots=True)
class _Row:
    """How an engine is told about adapters."""

    modules: str
    """The flag with the list of adapters, `name=path` each."""
    limits: Mapping[str, str]
    """The flags of the limits, by their names."""
    switch: str = ""
    """The flag that turns adapters on; empty: their list does."""
    batch: int = 1
    """Adapters of one batch, where no flag says more or less."""
    slots: bool = False
    """Whether a batch is given room for all adapters."""


FLAGS: Final[Mapping[str, _Row]] = {
    "vllm": _Row(
        "--lora-modules",
        {"maxRank": "--max-lora-rank", "maxAdapters": "--max-loras", "maxCpuAdapters": "--max-cpu-loras"},
        switch="--enable-lora",
        slots=True,
    ),
    "sglang": _Row(
        "--lora-paths",
        {
            "maxRank": "--max-lora-rank",
            "maxAdapters": "--max-loras-per-batch",
            "maxCpuAdapters": "--max-loaded-loras",
        },
        batch=8,
    ),
}
_NUMBER: Final = re.compile("[-+]?[0-9]{1,9}")


def lora(launch: Launch, intent: Intent, _settings: Settings) -> BlockArguments:
    """Return the flags for the adapters that the author asks for and has no flags for."""
    asked, row = intent.adapters, FLAGS[launch.command.engine]
    listed = _listed(asked, by_engine=intent.downloads_models)
    return BlockArguments(
        flags=(*_switch(launch, row), *_modules(launch, row, listed), *_limits(launch, row, asked)),
        findings=(
            *_named_like_the_model(launch, intent),
            *_negated(launch, row),
            *_other_modules(launch, row, listed),
            *_other_limits(launch, row, asked),
        ),
    )


def _listed(asked: Lora, *, by_engine: bool) -> dict[str, str]:
    """Return what the engine loads for each adapter, by name."""
    return {one.name: one.argument(by_engine=by_engine) for one in asked.adapters}


# --- what is added ------------------------------------------------------------------------------------


def _switch(launch: Launch, row: _Row) -> Args:
    return (row.switch,) if row.switch and not launch.command.flags.last(row.switch) else ()


def _modules(launch: Launch, row: _Row, listed: Mapping[str, str]) -> Args:
    if launch.command.flags.last(row.modules):
        return ()
    return (row.modules, *(f"{name}={loaded}" for name, loaded in listed.items()))


def _limits(launch: Launch, row: _Row, asked: Lora) -> Iterator[str]:
    """Yield the limits that are asked for, and room for all adapters in one batch, which memory must hold."""
    values = {name: getattr(asked, field) for name, field in LIMITS.items()}
    if not values["maxAdapters"]:
        memory = values["maxCpuAdapters"] or _number(launch, row.limits["maxCpuAdapters"])
        batch = len(asked.adapters) if row.slots else row.batch
        batch = min(batch, memory or batch)
        is_told = batch < row.batch or (row.slots and len(asked.adapters) > 1)
        values["maxAdapters"] = batch if is_told else 0
    for name, flag in row.limits.items():
        if values[name] and not launch.command.flags.last(flag):
            yield from (flag, str(values[name]))


# --- what contradicts ---------------------------------------------------------------------------------


def _named_like_the_model(launch: Launch, intent: Intent) -> Iterator[FieldError]:
    """FI125: a request names an adapter or the model, and so all names differ."""
    served = set(_served(launch, intent))
    for one in intent.adapters.adapters:
        if one.name in served:
            message = f"{one.name} is the name of the model too: give the adapter another name"
            yield FieldError(keys.path(keys.LORA), None, message, "FI125")


def _served(launch: Launch, intent: Intent) -> Iterator[str]:
    """Yield the names under which the engine serves the model, as far as they are known."""
    given, model = launch.command.flags.last(SERVED_NAME), intent.artifact
    if given is not None:
        yield from _words(launch, given)
    elif model is not None:
        yield model.name or model.argument
    elif name := model_of(launch):
        yield name


def _negated(launch: Launch, row: _Row) -> Iterator[FieldError]:
    """FI124: adapters are not turned off."""
    negated = launch.command.flags.last(f"--no-{row.switch.removeprefix('--')}") if row.switch else None
    if negated:
        says = f"{spelled(launch, negated)} turns off the adapters of {keys.LORA}"
        yield contradiction(launch, negated.at, says, "FI124")


def _other_modules(launch: Launch, row: _Row, listed: Mapping[str, str]) -> Iterator[FieldError]:
    """FI124: an author's own list has the adapters of the annotation, with the same paths."""
    given = launch.command.flags.last(row.modules)
    if given is None:
        return
    own = dict(map(_item, _words(launch, given)))
    for name, loaded in listed.items():
        if own.get(name) != loaded:
            says = f"{spelled(launch, given)} without {name}={loaded} contradicts {keys.LORA}"
            yield contradiction(launch, given.at, says, "FI124")


def _item(word: str) -> tuple[str, str]:
    """Return name and path of an item, which is `name=path` or a JSON object; the path may be alone."""
    if word.startswith("{"):
        try:
            found = mapping(orjson.loads(word))
        except orjson.JSONDecodeError:
            return word, ""
        return text(found.get("name")) or text(found.get("lora_name")), text(found.get("path")) or text(
            found.get("lora_path")
        )
    name, _, loaded = word.partition("=")
    return name, loaded or name


def _other_limits(launch: Launch, row: _Row, asked: Lora) -> Iterator[FieldError]:
    """FI124: an author's own limit is that of the annotation."""
    for name, flag in row.limits.items():
        value, own, given = (
            getattr(asked, LIMITS[name]),
            _number(launch, flag),
            launch.command.flags.last(flag),
        )
        if given and value and own not in {None, value}:
            says = f"{spelled(launch, given)} {own} contradicts {name}={value} in {keys.LORA}"
            yield contradiction(launch, given.value_at, says, "FI124")


def _number(launch: Launch, name: str) -> int | None:
    """Return the value of a flag; None if it is absent, or no number that is known here."""
    flag = launch.command.flags.last(name)
    value = next(_words(launch, flag), "") if flag else ""
    return int(value) if _NUMBER.fullmatch(value) else None


def _words(launch: Launch, flag: Flag) -> Iterator[str]:
    """Yield the known values of a flag; variables whose values are not literal are left out."""
    known = (resolve(word, launch.engine.variables) for word in values_of(launch, flag))
    yield from (word for word in known if word is not None)


LORA: Final = Block("lora", keys.LORA, lora)
