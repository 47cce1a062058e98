"""The block `lora`: the flags by which an engine serves LoRA adapters, each adapter as a list item.

An author's own list of adapters stays, and must have those of the annotation: engines read one list only.
Sources: vLLM `vllm/config/lora.py`, `vllm/entrypoints/common/cli_args.py`; SGLang `srt/server_args.py`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from intent import annotations as keys
from intent.command_line.flags import SERVED_NAME
from intent.errors import FieldError
from intent.launch import Launch, model_of, size_of
from intent.lora import LIMITS
from intent.lws import Intent
from intent.shapes import decoded
from webhook.blocks.block import Block, Wish, known_values


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


def lora(launch: Launch, intent: Intent) -> Iterator[Wish | FieldError]:
    """Yield the flags for the adapters, and adapters with a name of the model.

    A request names an adapter or the model, and so all names differ (FI125).
    """
    asked, row = intent.adapters, FLAGS[launch.command.engine]
    served = _served(launch, intent)
    for adapter in asked.adapters:
        if adapter.name in served:
            message = f"{adapter.name} is the name of the model too: give the adapter another name"
            yield FieldError(keys.path(keys.LORA), None, message, "FI125")
    if row.switch:
        against = f"--no-{row.switch.removeprefix('--')}"
        yield Wish((row.switch,), (row.switch,), against=against, asked="the adapters")
    by_engine = intent.downloads_models
    modules = tuple(f"{adapter.name}={adapter.argument(by_engine=by_engine)}" for adapter in asked.adapters)
    yield Wish((row.modules, *modules), (row.modules,), modules, read=_item)
    limits = {name: getattr(asked, field) for name, field in LIMITS.items()}
    for name, flag in row.limits.items():
        limit = limits[name] or (_batch(launch, intent, row) if name == "maxAdapters" else 0)
        values = (str(limit),) if limits[name] else ()
        if limit:
            yield Wish((flag, str(limit)), (flag,), values, asked=f"{name}={limit}")


def _item(word: str) -> str:
    """Return `name=path` for an adapter of an author's own list, which may be a JSON object."""
    adapter = decoded(word)
    return f"{adapter.get('name')}={adapter.get('path')}" if isinstance(adapter, dict) else word


def _batch(launch: Launch, intent: Intent, row: _Row) -> int:
    """Return room for all adapters in one batch, which memory must hold; 0 if the engine's default does."""
    count, memory = len(intent.adapters.adapters), intent.adapters.max_cpu_adapters
    flag = launch.command.flags.last(row.limits["maxCpuAdapters"])
    if flag and not memory:
        memory = next(filter(None, map(size_of, known_values(launch, flag))), 0)
    batch = count if row.slots else row.batch
    batch = min(batch, memory or batch)
    return batch if batch < row.batch or (row.slots and count > 1) else 0


def _served(launch: Launch, intent: Intent) -> list[str]:
    """Return the names under which the engine serves the model, as far as they are known."""
    flag, model = launch.command.flags.last(SERVED_NAME), intent.artifact
    if flag is not None:
        return known_values(launch, flag)
    return [model.name or model.argument] if model else [model_of(launch) or ""]


LORA: Final = Block("lora", keys.LORA, lora, "FI124")
