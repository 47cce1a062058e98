"""The layout of an expanded object: the templates that there will be, and the launch of each. Computed once.

Mutators and validators get it as part of their `Input`. It depends on which concerns there are: without
`split` no leader template is foreseen, without `sidecar` no port moves, without `launch` neither is needed.

    fill       the arguments that blocks add to the author's commands (`webhook.blocks`)
    plan       the launcher for the filled templates, and whether it is written
    serving    which pods serve, on which ports
    move       whether a sidecar takes the ports of the engines that serve
    split      whether leader and workers, which share one template, must differ
    layout     the templates after split and move, with their launches
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

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
from intent.container import CALLS
from intent.errors import FieldError
from intent.gang import DISAGGREGATED, ENCODER
from intent.image import read_image
from intent.launch import (
    Decision,
    Launch,
    LaunchPlan,
    api_port,
    known_port,
    read_launch,
    read_size,
    size_of,
    text_of,
)
from intent.lws import Engine, Intent, Moved, Probe, Template
from intent.ranks import balance, bootstrap_of, is_headless, local_ranks, read_ranks, read_transfer
from intent.served import HIGHEST, LEADERS, MOST_SERVED, KVTransfer, Served, Serving, bounded
from intent.settings import Settings
from intent.shapes import number
from webhook.blocks import BLOCKS, Filled, filled
from webhook.launchers import LAUNCHERS
from webhook.launchers.plan import read_plan
from webhook.launchers.vllm_native import VLLM_NATIVE
from webhook.move import engine_move, on_port

LAUNCH: Final = "launch"
SPLIT: Final = "split"
PROBES: Final = "probes"
STARTUP: Final = "startup"
SIDECAR: Final = "sidecar"
_STARTUP: Final = "startupProbe"

DECISIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "launcher": ("launcher", "older", "serving", "paths"),
    "layout": ("splits", "port"),
}
"""The fields of `Decision` that are decided together, in the order of the decisions.

A recorded decision is taken again while the rules decide the same for the stored author and for this one.
"""
KEPT: Final[Mapping[str, tuple[str, ...]]] = {"launcher": ("launcher", "older"), "layout": ("port",)}
"""The fields of each decision that may stay although they do not: `webhook.mutate` says when."""
UNDECIDED: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Layout:
    """The templates of the expanded object."""

    templates: tuple[Template, ...]
    launches: tuple[Launch, ...]
    """Those of these templates."""
    serving: Serving
    """Which pods serve, on which ports."""
    move: Moved | FieldError | None = None
    """The move of the API behind its sidecar, or why it cannot move; None without a sidecar."""


@dataclass(frozen=True, slots=True)
class Input:
    """The argument of mutators and validators: the Intent, the settings, and what follows from both."""

    intent: Intent
    """The author's, with the arguments of blocks in its templates."""
    settings: Settings
    plan: LaunchPlan
    """The launcher, and the launches of the templates of the Intent."""
    layout: Layout
    concerns: frozenset[str]
    """The names of the concerns that there are, and that the author does not skip."""
    about_blocks: tuple[FieldError, ...] = ()
    """The findings of the blocks."""


def decision(inputs: Input) -> Decision:
    """Return the decisions of a layout."""
    plan, layout = inputs.plan, inputs.layout
    return Decision(
        plan.launcher if plan.rewritten else "",
        any(template.made for template in layout.templates),
        layout.move.to if isinstance(layout.move, Moved) else 0,
        plan.older,
        layout.serving,
        plan.paths,
    )


def read_input(
    intent: Intent, settings: Settings, concerns: frozenset[str], decided: Mapping[str, Any] = UNDECIDED
) -> Input:
    """Plan the launch and the layout of one object, for these concerns, with these recorded decisions."""
    asked = [block for block in BLOCKS if LAUNCH in concerns and getattr(intent, block.field)]
    full = filled(intent, settings, asked) if asked else Filled(intent)
    intent = full.intent
    is_shared = intent.size > 1 and len(intent.templates) == 1
    can_differ = not is_shared or SPLIT in concerns
    plan = _plan(intent, settings, decided) if decided else read_plan(intent, settings)
    if plan.rewritten and not (LAUNCH in concerns and (can_differ or not LAUNCHERS[plan.launcher].splits)):
        plan = replace(plan, rewritten=False)
    serving = decided["serving"] if "serving" in decided else _serving(intent, plan)
    move = None
    if {LAUNCH, SIDECAR} <= concerns and (can_differ or serving.everywhere):
        move = engine_move(intent, plan.launches, serving, settings)
    if "port" in decided and isinstance(move, Moved):
        move = replace(move, to=decided["port"]) if decided["port"] else None
    differs = plan.rewritten and (  # in commands, or in probes
        LAUNCHERS[plan.launcher].splits or (PROBES in concerns and bool(_of_leader(plan.leader, plan)))
    )
    is_split = not serving.everywhere and (isinstance(move, Moved) or differs)
    templates, launches = intent.templates, plan.launches
    if is_shared and SPLIT in concerns and decided.get("splits", is_split):
        leader = replace(templates[0], field="leaderTemplate", made=True)
        templates = (leader, *templates)
        launches = (*(replace(launch, template=leader) for launch in launches), *launches)
    if isinstance(move, Moved):
        count = len(launches) if serving.everywhere else 1
        launches = (*(_moved(launch, move, settings) for launch in launches[:count]), *launches[count:])
        by_field = {launch.template.field: launch.template for launch in launches}
        templates = tuple(by_field.get(template.field, template) for template in templates)
    layout = Layout(templates, launches, serving, move)
    return Input(intent, settings, plan, layout, concerns, full.findings)


def _plan(intent: Intent, settings: Settings, decided: Mapping[str, Any]) -> LaunchPlan:
    """Return the plan with the recorded launcher, which may be none, in place of the one chosen now."""
    plan, recorded = read_plan(intent, settings), decided.get("launcher")
    if recorded == "":
        plan = replace(plan, rewritten=False)
    elif recorded and (recorded, True) != (plan.launcher, plan.rewritten):
        plan = read_plan(replace(intent, launcher=recorded), settings)
    return replace(plan, **{name: decided[name] for name in ("older", "paths") if name in decided})


def _moved(launch: Launch, move: Moved, settings: Settings) -> Launch:
    """Return the launch of a template whose engine moves, read again."""
    engine = on_port(launch, move.to)
    template = replace(launch.template, engine=engine, moved=move)
    return read_launch(template, engine, settings.engines, launch.pods)


def _of_leader(launch: Launch, plan: LaunchPlan) -> tuple[Probe, ...]:
    """Return the probes and hooks of a template that fail on workers which serve no API.

    If the startup probe does, so do all: they would run while a worker loads the model.
    """
    answers = LAUNCHERS[plan.launcher].answers if plan.paths else ()
    probes = (*launch.engine.probes, *launch.engine.hooks)
    if not answers:
        return probes
    failing = tuple(probe for probe in probes if probe.handler == "httpGet" and probe.path not in answers)
    return probes if any(probe.field == _STARTUP for probe in failing) else failing


def misplaced(launch: Launch, inputs: Input) -> tuple[Probe, ...]:
    """Return the probes and hooks of a worker that are meant for the leader, since workers serve no API."""
    layout = inputs.layout
    is_alone = len(layout.launches) == 1
    if launch.leads or layout.serving.everywhere or PROBES not in inputs.concerns or is_alone:
        return ()
    probes, leader = _of_leader(launch, inputs.plan), inputs.plan.leader.engine
    if layout.templates[0].made:
        return probes
    return tuple(
        probe for probe in probes if probe.handler in CALLS and probe in (*leader.probes, *leader.hooks)
    )


def startup_port(launch: Launch, inputs: Input) -> int | str | None:
    """Return the port for a startup probe; None if none is needed or the port is unknown.

    One is needed where an engine that answers has other probes, which would run while it loads the model.
    """
    plan, serving = inputs.plan, inputs.layout.serving
    written = {probe.field for probe in launch.engine.probes}
    left = written.difference(probe.field for probe in misplaced(launch, inputs))
    is_answering = launch.leads or serving.everywhere or (plan.paths and LAUNCHERS[plan.launcher].answers)
    is_missing = is_answering and left and _STARTUP not in written and STARTUP in inputs.concerns
    return (serving.supervisor or api_port(launch)) if is_missing else None


def of_supervisor(probe: Probe, inputs: Input) -> bool:
    """Return whether a probe is one that the process answers which starts a server for each rank.

    It answers `/health` for all of them; the author's probe calls the server of the first.
    """
    layout = inputs.layout
    is_ours = inputs.plan.rewritten and PROBES in inputs.concerns and bool(layout.serving.ports)
    return is_ours and is_health(probe) and probe.port in {*layout.serving.ports[:1], "http"}


def is_health(probe: Probe) -> bool:
    """Return whether a probe asks an engine for its health."""
    return probe.handler == "httpGet" and probe.path == "/health"


# --- what a member serves -----------------------------------------------------------------------------

_RAY_START: Final = re.compile(r"(?<![\w.-])ray\s+start\b(?:[^;&|\n\\]|\\.)*+", re.DOTALL)
_PORT: Final = re.compile(r"(?<![\w-])--port[=\s]+['\"]?([0-9]{1,5}|\$\(\w+\))")
SUPERVISOR_PORT: Final = 9256
"""vLLM's default of `--data-parallel-supervisor-port`."""


def served(inputs: Input) -> Served:
    """Return what a member serves, by the launch that is written, else by the author's words."""
    intent, launches = inputs.intent, inputs.plan.launches
    leads = next(iter(intent.templates), None)
    port = DEFAULT_PORT if leads is None else leads.proxied or port_of(leads.engine, launches)
    is_half = intent.component_type in DISAGGREGATED
    side = next((side for launch in launches if (side := _side(launch))), None) if is_half else None
    return Served(port, side, inputs.layout.serving)


def _serving(intent: Intent, plan: LaunchPlan) -> Serving:
    """Return which pods serve. What is not understood is taken for leaders, which always do, on one port."""
    launches = plan.launches
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
    serving = servers(leader, worker, intent.size)
    return bounded(replace(serving, ports=()) if intent.templates[0].proxied else serving)


def servers(leader: Launch, worker: Launch, size: int) -> Serving:
    """Return the servers of a pod that has one for each rank, as its flags ask for them (`bounded`)."""
    ranks, first = read_ranks(leader, worker, size), known_port(leader) or 0
    counts = ranks.of_pods(size) if ranks else (local_ranks(leader) or 0, local_ranks(worker) or 0)
    local = min(*counts, MOST_SERVED)
    return Serving(
        everywhere=True,
        ports=tuple(range(first, first + local)) if first else (),
        supervisor=size_of(text_of(leader, SUPERVISOR)) or SUPERVISOR_PORT,
    )


def _serves(launch: Launch) -> bool:
    """Return whether every pod of a template has a server of its own for its ranks."""
    command, engine = launch.command, launch.engine
    is_vllm = command.started == "vllm" and not in_ray(engine.command + engine.args)
    return is_vllm and not is_headless(launch) and balance(launch) != "internal"


def _side(launch: Launch) -> KVTransfer | None:
    """Return the settings of vLLM or SGLang; None if absent, or only known in the cluster."""
    engine, tensor = launch.command.started, read_size(launch, TENSOR)
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
    known = next((launch.command for launch in launches if launch.engine is engine), None)
    image = read_image(engine.image)
    command = known or read_command(engine.command, engine.args, image)
    flag, name = command.flags.last(PORT), command.started
    if name and flag is None and command.flags.last(CONFIG) is None:
        return engine.http or PRODUCTS[name].port
    told = flag.value if flag else None if name else _last_port(engine)
    port = size_of(resolve(told or "", engine.variables) or "") or 0
    first = 0 if name else next((port for port, _ in engine.ports), 0)
    probed = next(
        filter(None, (number(probe.port) for probe in engine.probes if probe.handler == "httpGet")), 0
    )
    default = PRODUCTS[image.engine].port if image.engine in PRODUCTS else DEFAULT_PORT
    return (port if port <= HIGHEST else 0) or engine.http or probed or first or default


def _last_port(engine: Engine) -> str | None:
    """Return the last `--port` of a command that is not understood, but for those of `ray start`."""
    text = _RAY_START.sub(" ", " ".join((*engine.command, *engine.args)))
    return next(iter(_PORT.findall(text)[-1:]), None)
