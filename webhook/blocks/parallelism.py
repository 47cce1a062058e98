"""The block `parallelism`: the flags of the sizes that an author asks for, in the words of the engine.

A flag of the author's stays, and must not contradict the annotation. Nothing that is asked for is dropped: an
engine without a flag for it is an error.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from intent import annotations as keys
from intent.command_line.flags import DATA, LOCAL_DATA, PIPELINE, TENSOR, Flag
from intent.errors import FieldError
from intent.launch import Launch, argument_path, spelled, value_of
from intent.lws import Intent
from intent.parallelism import EXPERT, RPC_PORT, Parallelism
from intent.settings import Settings
from webhook.blocks.block import Block, Filling


@dataclass(frozen=True, slots=True)
class _Row:
    """How an engine is told one kind of parallelism."""

    spelled: str
    """The flag that is added."""
    names: tuple[str, ...]
    """The names of the author's own flags for it, as the parser gives them."""
    switch: bool = False
    """Whether the flag takes no value."""


_FLAGS: Final[Mapping[str, Mapping[str, _Row]]] = {
    "vllm": {
        "tensor": _Row("--tensor-parallel-size", (TENSOR,)),
        "pipeline": _Row("--pipeline-parallel-size", (PIPELINE,)),
        "data": _Row("--data-parallel-size", (DATA,)),
        "dataLocal": _Row("--data-parallel-size-local", (LOCAL_DATA,)),
        RPC_PORT: _Row("--data-parallel-rpc-port", ("data-parallel-rpc-port",)),
        EXPERT: _Row("--enable-expert-parallel", ("enable-expert-parallel",), switch=True),
    },
    "sglang": {
        "tensor": _Row("--tp-size", (TENSOR,)),
        "pipeline": _Row("--pp-size", (PIPELINE,)),
        "data": _Row("--dp-size", (DATA,)),
    },
}


def parallelism(launch: Launch, intent: Intent, _settings: Settings) -> Filling:
    """Return a flag for each kind of parallelism that the author asks for and has no flag for."""
    if intent.parallelism is None:
        return Filling()
    rows = _FLAGS[launch.command.engine]
    flags: list[str] = []
    findings: list[FieldError] = []
    for name, value in _asked(intent.parallelism):
        row = rows.get(name)
        if row is None:
            message = f"{launch.command.engine} has no flag for {name}: remove it"
            findings.append(FieldError(keys.path(keys.PARALLELISM), None, message, "FI116"))
        elif (given := _given(launch, row)) is None:
            flags += (row.spelled,) if row.switch else (row.spelled, value)
        elif not row.switch and (there := value_of(launch, given)) is not None and there != value:
            message = (
                f"{spelled(launch, given)} {there[:40]} contradicts {name}={value} in {keys.PARALLELISM}: "
                "remove one of the two"
            )
            findings.append(FieldError(argument_path(launch, given.value_at), None, message, "FI117"))
    return Filling(flags=tuple(flags), findings=tuple(findings))


def _asked(sizes: Parallelism) -> Iterator[tuple[str, str]]:
    """Yield what is asked for, by name, with its value."""
    named = {
        "tensor": sizes.tensor,
        "pipeline": sizes.pipeline,
        "data": sizes.data,
        "dataLocal": sizes.data_local,
        EXPERT: int(sizes.expert),
        RPC_PORT: sizes.rpc_port,
    }
    yield from ((name, str(value)) for name, value in named.items() if value)


def _given(launch: Launch, row: _Row) -> Flag | None:
    """Return the author's own flag, the last of several."""
    return next((flag for name in row.names if (flag := launch.command.flags.last(name))), None)


PARALLELISM: Final = Block("parallelism", keys.PARALLELISM, parallelism)
