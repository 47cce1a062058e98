"""What a member serves, read from the author's command: the port of its leaders, and its KV transfer.

The record keeps it for the controller (`intent.served`).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from catalog.engines import DEFAULT_PORT, PRODUCTS
from intent.command_line.command import DIALECTS, ENGINES, MOST_WORDS
from intent.command_line.dialects import VLLM
from intent.command_line.flags import CONFIG, END, PORT, TENSOR, Flags, read_flags, resolve
from intent.command_line.programs import program
from intent.gang import DISAGGREGATED
from intent.launch import Launch, is_size, read_launches, read_size
from intent.lws import Engine, Intent
from intent.served import KVTransfer, Served
from intent.settings import Settings
from intent.shapes import number
from intent.transfer import read_transfer

_HIGHEST: Final = 65535
_PACKAGES: Final = {product.package: name for name, product in PRODUCTS.items()}
"""Engines by the Python package of any module that starts them."""


def served(intent: Intent, launches: tuple[Launch, ...], settings: Settings) -> Served:
    """Return what a member serves. `launches` are those of its templates, empty if they were not read."""
    launches = launches or tuple(read_launches(intent, settings))
    leads = next(iter(intent.templates), None)
    found = Served() if leads is None else Served(leads.proxied or _port(leads.engine, launches))
    if intent.component_type not in DISAGGREGATED:
        return found
    return replace(found, kv_transfer=next((side for one in launches if (side := _side(one))), None))


def _side(launch: Launch) -> KVTransfer | None:
    """Return the settings of vLLM; None if absent, or only known in the cluster."""
    command = launch.command
    transfer = read_transfer(launch) if "vllm" in (command.engine, command.within) else None
    tensor = read_size(launch, TENSOR)
    if transfer is None or not transfer.connectors or tensor is None:
        return None
    return KVTransfer(transfer.connectors, tensor, launch.engine.image)


# --- the port -----------------------------------------------------------------------------------------


def _port(engine: Engine | None, launches: tuple[Launch, ...]) -> int:
    """Return the port of the flag, else the port named `http`, else the engine's default."""
    if engine is None:
        return DEFAULT_PORT
    known = next((one.command for one in launches if one.engine is engine), None)
    name, flags = (known.engine, known.flags) if known and known.engine else _last_engine(engine)
    return _given(flags, engine) or engine.http or _without_flag(name, flags, engine)


def _given(flags: Flags, engine: Engine) -> int:
    """Return the last `--port`, with literal variables expanded; 0 if absent or unknown."""
    flag = flags.last(PORT)
    value = resolve(flag.value or "", engine.variables) if flag else None
    return int(value) if value and is_size(value) and int(value) <= _HIGHEST else 0


def _without_flag(name: str, flags: Flags, engine: Engine) -> int:
    if name and flags.last(CONFIG) is None:
        return PRODUCTS[name].port
    first = next((port for port, _ in engine.ports), 0)
    return _probed(engine) or (0 if name else first) or DEFAULT_PORT


def _probed(engine: Engine) -> int:
    return next(
        (number(one.port) for one in engine.probes if one.handler == "httpGet" and number(one.port)), 0
    )


def _last_engine(engine: Engine) -> tuple[str, Flags]:
    """Parse the last engine among the words of a command that is not understood.

    An author's own launch may stand before the engine, or a script around it. So scripts are split at blanks,
    and only the arguments after the last program that is an engine are read. Ray's own `--port` precedes it.
    Without an engine, all words after the last `--` are read.
    """
    words = tuple(islice(_words(engine), MOST_WORDS))
    for at in reversed(range(len(words))):
        kind, arguments = program(words, at)
        if kind != "unknown":
            return ENGINES[kind], read_flags(words, arguments, DIALECTS.get(kind, VLLM))
        if name := _of_module(words, at):
            return name, read_flags(words, at + 2, VLLM)
    behind = len(words) - words[::-1].index(END) if END in words else 0
    return "", read_flags(words, behind, VLLM)


def _of_module(words: tuple[str, ...], at: int) -> str:
    module = words[at + 1] if words[at] == "-m" and at + 1 < len(words) else ""
    return _PACKAGES.get(module.partition(".")[0], "")


def _words(engine: Engine) -> Iterator[str]:
    """Yield command and args split at blanks, as scripts need, without quotes."""
    for item in (*engine.command, *engine.args):
        yield from (word.strip("\"';") for word in item.split())
