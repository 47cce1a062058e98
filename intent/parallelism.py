"""The value of the annotation `parallelism`: `tensor=8,pipeline=2,data=4,dataLocal=2,expert`.

The names are those of KServe's `spec.parallelism` (`LLMInferenceService`, `v1alpha1`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from intent.errors import nearest, suggested
from intent.served import HIGHEST

SIZES: Final = {"tensor": "tensor", "pipeline": "pipeline", "data": "data", "dataLocal": "data_local"}
"""The names of sizes, with their fields."""
RPC_PORT: Final = "dataRPCPort"
EXPERT: Final = "expert"
NAMES: Final = (*SIZES, EXPERT, RPC_PORT)
EXAMPLE: Final = "tensor=8,pipeline=2"
LARGEST: Final = 1_000_000
_LONGEST: Final = 256


@dataclass(frozen=True, slots=True)
class Parallelism:
    """The sizes that an author asks for; 0 where none is given."""

    tensor: int = 0
    pipeline: int = 0
    data: int = 0
    """Data-parallel ranks of the whole group."""
    data_local: int = 0
    """Data-parallel ranks of one pod."""
    expert: bool = False
    rpc_port: int = 0
    """The port on the leader by which data-parallel ranks of other pods join."""


def read_parallelism(text: str) -> Parallelism:
    """Parse a value without faults."""
    values = dict(_items(text))
    sizes = {field: int(values[name]) for name, field in SIZES.items() if name in values}
    port = int(values.get(RPC_PORT, "0"))
    return Parallelism(**sizes, expert=values.get(EXPERT, "false") != "false", rpc_port=port)


def written(sizes: Parallelism) -> str:
    """Return the value of the annotation for these sizes; empty for none."""
    named = ((name, getattr(sizes, field)) for name, field in SIZES.items())
    items = [f"{name}={value}" for name, value in (*named, (RPC_PORT, sizes.rpc_port)) if value]
    return ",".join([*items, EXPERT] if sizes.expert else items)


def fault(text: str) -> str:
    """Return what is wrong with a value, and what would be right; empty if nothing is."""
    if len(text) > _LONGEST or not text.strip():
        return f"must be parallel sizes such as {EXAMPLE}, of at most {_LONGEST} characters"
    items = list(_items(text))
    names = [name for name, _ in items]
    wrong = (message for name, value in items if (message := _wrong(name, value)))
    twice = (f"{name} is given twice: keep one" for name in names if names.count(name) > 1)
    return next(wrong, "") or next(twice, "") or _uneven(read_parallelism(text))


def _uneven(sizes: Parallelism) -> str:
    """Return why the ranks of one pod do not make up all ranks, whatever the number of pods."""
    if sizes.data_local and not sizes.data:
        return f"dataLocal needs data, the ranks of the whole group, as in data={2 * sizes.data_local}"
    if sizes.data_local and sizes.data % sizes.data_local:
        return f"data={sizes.data} must be a multiple of dataLocal={sizes.data_local}"
    return ""


def _items(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values; `expert` alone is true."""
    for item in text.split(","):
        name, equals, value = item.partition("=")
        bare = "true" if name.strip() == EXPERT else ""
        yield name.strip(), value.strip() if equals else bare


def _wrong(name: str, value: str) -> str:
    if name not in NAMES:
        hint = suggested(nearest(name, NAMES), f"names are {', '.join(NAMES)}")
        return f"{name[:40] or 'an empty item'} is not a kind of parallelism{hint}"
    if name == EXPERT:
        return "" if value in {"true", "false"} else "expert takes no value, or true or false"
    highest = HIGHEST if name == RPC_PORT else LARGEST
    is_number = value.isascii() and value.isdecimal() and len(value) < 9
    if is_number and 1 <= int(value) <= highest:
        return ""
    return f"{name} must be a whole number from 1 to {highest}, as in {name}={2 if name in SIZES else 5555}"
