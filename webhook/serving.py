"""What a member serves, from its launches: which pods and ports, and the settings of its KV transfer.

All else follows from it: labels, probes, sidecars, Services and InferencePools. The record keeps it for the
controller (`intent.served`), and pins it with the launch.
"""

import re
from dataclasses import replace
from typing import Final

from catalog.engines import DEFAULT_PORT, PRODUCTS
from intent.command_line.command import in_ray, read_command
from intent.command_line.flags import (
    BACKEND_OF_TRANSFER,
    CONFIG,
    MODE,
    PORT,
    SUPERVISOR,
    TENSOR,
    resolve,
)
from intent.gang import DISAGGREGATED, ENCODER
from intent.image import read_image
from intent.launch import (
    VLLM_NATIVE,
    Launch,
    LaunchPlan,
    is_size,
    known_port,
    read_size,
    text_of,
)
from intent.lws import Engine, Intent
from intent.ranks import balance, is_headless, local_ranks, read_ranks
from intent.served import HIGHEST, LEADERS, MOST_SERVED, KVTransfer, Served, Serving, bounded
from intent.shapes import number
from intent.transfer import bootstrap_of, read_transfer

_RAY_START: Final = re.compile(r"(?<![\w.-])ray\s+start\b(?:[^;&|\n\\]|\\.)*+", re.DOTALL)
_PORT: Final = re.compile(r"(?<![\w-])--port[=\s]+['\"]?([0-9]{1,5}|\$\(\w+\))")
SUPERVISOR_PORT: Final = 9256
"""vLLM's default of `--data-parallel-supervisor-port`."""


def served(intent: Intent, plan: LaunchPlan, launches: tuple[Launch, ...]) -> Served:
    """Return what a member serves, by the launch that is written, else by the author's words (`launches`)."""
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
    """Return the port of the flag, else the port named `http`, else the engine's default.

    A command that is not understood, or a port in a file, leaves that of a probe, or the first of the
    container, or the default of the engine in the image. `launches` are those that are read already.
    """
    if engine is None:
        return DEFAULT_PORT
    known = next((one.command for one in launches if one.engine is engine), None)
    image = read_image(engine.image)
    command = known or read_command(engine.command, engine.args, image)
    flag, name = command.flags.last(PORT), command.started
    if name and flag is None and command.flags.last(CONFIG) is None:
        return engine.http or PRODUCTS[name].port
    told = flag.value if flag else None if name else _last_port(engine)
    text = resolve(told or "", engine.variables) or ""
    port = int(text) if is_size(text) and int(text) <= HIGHEST else 0
    first = 0 if name else next((port for port, _ in engine.ports), 0)
    probed = next(filter(None, (number(one.port) for one in engine.probes if one.handler == "httpGet")), 0)
    default = PRODUCTS[image.engine].port if image.engine in PRODUCTS else DEFAULT_PORT
    return port or engine.http or probed or first or default


def _last_port(engine: Engine) -> str | None:
    """Return the last `--port` of a command that is not understood, but for those of `ray start`."""
    text = _RAY_START.sub(" ", " ".join((*engine.command, *engine.args)))
    return next(iter(_PORT.findall(text)[-1:]), None)
