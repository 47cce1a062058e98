"""What a member serves, from its launches: which pods and ports, and the settings of its KV transfer.

All else follows from it: labels, probes, sidecars, Services and InferencePools. The record keeps it for the
controller (`intent.served`), and pins it with the launch.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from catalog.engines import DEFAULT_PORT, PRODUCTS
from intent.command_line.command import DIALECTS, ENGINES, MOST_WORDS, in_ray
from intent.command_line.dialects import VLLM
from intent.command_line.flags import (
    BACKEND_OF_TRANSFER,
    CONFIG,
    END,
    MODE,
    PORT,
    SUPERVISOR,
    TENSOR,
    Flags,
    read_flags,
    resolve,
)
from intent.command_line.programs import program
from intent.gang import DISAGGREGATED, ENCODER
from intent.launch import (
    VLLM_NATIVE,
    Launch,
    LaunchPlan,
    is_size,
    known_port,
    read_launches,
    read_size,
    text_of,
)
from intent.lws import Engine, Intent
from intent.ranks import balance, is_headless, local_ranks, read_ranks
from intent.served import HIGHEST, LEADERS, MOST_SERVED, KVTransfer, Served, Serving, bounded
from intent.settings import Settings
from intent.shapes import number
from intent.transfer import bootstrap_of, read_transfer

_PACKAGES: Final = {**{product.package: name for name, product in PRODUCTS.items()}, "dynamo": "dynamo"}
"""Engines by the Python package of any module that starts them."""
_PORTS: Final = {**{name: product.port for name, product in PRODUCTS.items()}, "dynamo": DEFAULT_PORT}
"""Their ports. Workers of Dynamo answer status requests alone; its frontend serves the API."""
_RAY_START: Final = re.compile(r"(?<![\w.-])ray\s+start\b(?:[^;&|\n\\]|\\.)*+", re.DOTALL)
SUPERVISOR_PORT: Final = 9256
"""vLLM's default of `--data-parallel-supervisor-port`."""


def served(intent: Intent, plan: LaunchPlan, settings: Settings) -> Served:
    """Return what a member serves, by the launch that is written, else by the author's words."""
    launches = plan.launches or tuple(read_launches(intent, settings))
    leads = next(iter(intent.templates), None)
    port = DEFAULT_PORT if leads is None else leads.proxied or port_of(leads.engine, launches)
    is_half = intent.component_type in DISAGGREGATED
    side = next((side for one in launches if (side := _side(one))), None) if is_half else None
    return Served(port, side, _serving(intent, plan, launches))


def _serving(intent: Intent, plan: LaunchPlan, launches: tuple[Launch, ...]) -> Serving:
    """Return which pods serve. What is not understood is taken for leaders, which always do, on one port."""
    is_whole = 0 < len(launches) == len(intent.templates)
    is_native = not plan.rewritten or plan.launcher == VLLM_NATIVE
    if intent.component_type == ENCODER or not (is_whole and is_native and all(map(_serves, launches))):
        return LEADERS
    leader, worker = launches[0], launches[-1]
    ranks = read_ranks(leader, worker, intent.size)
    if ranks and 0 in ranks.of_pods(intent.size):
        return LEADERS
    if balance(leader) != "multi-port":
        return Serving(everywhere=True)
    found = servers(leader, worker, intent.size)
    return bounded(replace(found, ports=()) if intent.templates[0].proxied else found)


def servers(leader: Launch, worker: Launch, size: int) -> Serving:
    """Return the servers of a pod that has one for each rank, as its flags ask for them (`bounded`)."""
    ranks, first = read_ranks(leader, worker, size), known_port(leader) or 0
    counts = ranks.of_pods(size) if ranks else (local_ranks(leader) or 0, local_ranks(worker) or 0)
    local = min(*counts, MOST_SERVED)
    supervisor = text_of(leader, SUPERVISOR)
    return Serving(
        everywhere=True,
        ports=tuple(range(first, first + local)) if first else (),
        supervisor=int(supervisor) if is_size(supervisor) else SUPERVISOR_PORT,
    )


def _serves(launch: Launch) -> bool:
    """Return whether every pod of a template has a server of its own for its ranks."""
    command, engine = launch.command, launch.engine
    is_vllm = "vllm" in (command.engine, command.within) and not in_ray(engine.command + engine.args)
    return is_vllm and not is_headless(launch) and balance(launch) != "internal"


def _side(launch: Launch) -> KVTransfer | None:
    """Return the settings of vLLM or SGLang; None if absent, or only known in the cluster."""
    engine, tensor = launch.command.engine or launch.command.within, read_size(launch, TENSOR)
    if engine == "sglang" and tensor and text_of(launch, MODE):
        backend = text_of(launch, BACKEND_OF_TRANSFER) or "mooncake"
        return KVTransfer((backend,), tensor, launch.engine.image, engine, bootstrap_of(launch))
    transfer = read_transfer(launch) if engine == "vllm" else None
    if transfer is None or not transfer.connectors or tensor is None:
        return None
    return KVTransfer(transfer.connectors, tensor, launch.engine.image)


# --- the port -----------------------------------------------------------------------------------------


def port_of(engine: Engine | None, launches: tuple[Launch, ...] = ()) -> int:
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
    return int(value) if value and is_size(value) and int(value) <= HIGHEST else 0


def _without_flag(name: str, flags: Flags, engine: Engine) -> int:
    if name and flags.last(CONFIG) is None and flags.last(PORT) is None:
        return _PORTS[name]
    first = next((port for port, _ in engine.ports), 0)
    return _probed(engine) or (0 if name else first) or DEFAULT_PORT


def _probed(engine: Engine) -> int:
    ports = (number(one.port) for one in engine.probes if one.handler == "httpGet")
    return next(filter(None, ports), 0)


def _last_engine(engine: Engine) -> tuple[str, Flags]:
    """Parse the last engine among the words of a command that is not understood.

    An author's own launch may stand before the engine, or a script around it. So scripts are split at blanks,
    and only the arguments after the last program that is an engine are read. Ray's own `--port` precedes it.
    Without an engine, all words after the last `--` are read, but for those of `ray start`.
    """
    items = (*engine.command, *engine.args)
    words = tuple(islice(_words(items), MOST_WORDS))
    for at in reversed(range(len(words))):
        kind, arguments = program(words, at)
        if kind != "unknown":
            return ENGINES[kind], read_flags(words, arguments, DIALECTS.get(kind, VLLM))
        if name := _of_module(words, at):
            return name, read_flags(words, at + 2, VLLM)
    words = tuple(islice(_words((_RAY_START.sub(" ", " ".join(items)),)), MOST_WORDS))
    behind = len(words) - words[::-1].index(END) if END in words else 0
    return "", read_flags(words, behind, VLLM)


def _of_module(words: tuple[str, ...], at: int) -> str:
    module = words[at + 1] if words[at] == "-m" and at + 1 < len(words) else ""
    return _PACKAGES.get(module.partition(".")[0], "")


def _words(items: tuple[str, ...]) -> Iterator[str]:
    """Yield list items split at blanks, as scripts need, without quotes."""
    for item in items:
        yield from (word.strip("\"';()") for word in item.split())
