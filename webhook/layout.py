"""The layout of an expanded object: the templates that there will be, and the launch of each. Computed once.

Mutators and validators get it as part of their `Input`. It depends on which concerns there are: without
`split` no leader template is foreseen, without `sidecar` no port moves, without `launch` neither is needed.

    fill       the arguments that blocks add to the author's commands (`webhook.blocks`)
    plan       the launcher for the filled templates, and whether it is written
    move       whether a sidecar takes the port of the leader's engine
    split      whether leader and workers, which share one template, must differ
    layout     the templates after split and move, with their launches
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from intent.container import CALLS
from intent.errors import FieldError
from intent.launch import Decision, Launch, LaunchPlan, api_port, read_launch
from intent.lws import Intent, Moved, Probe, Template
from intent.settings import Settings
from webhook.blocks import Filled, filled
from webhook.digest import COMMAND, Reads
from webhook.launchers import LAUNCHERS
from webhook.launchers.plan import read_plan
from webhook.move import engine_move, moved_template

LAUNCH: Final = "launch"
SPLIT: Final = "split"
PROBES: Final = "probes"
STARTUP: Final = "startup"
SIDECAR: Final = "sidecar"

DECISIONS: Final[Mapping[str, tuple[Reads, tuple[str, ...]]]] = {
    "launcher": (Reads(("launcher", "size"), engine=("container", *COMMAND, "accelerators")), ("launcher",)),
    "layout": (
        Reads(
            ("size", "sidecar", "picker", "sidecar_options"),
            template=("ports",),
            engine=("container", *COMMAND, "probes", "hooks"),
            layout=("launcher",),
            skip=("probes",),
        ),
        ("splits", "port"),
    ),
}
"""The input of each decision, and the fields of `Decision` that it fills, in the order of the decisions.

A decision is recorded, and taken again while its input has the same digest.
"""


UNDECIDED: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Layout:
    """The templates of the expanded object."""

    templates: tuple[Template, ...]
    plan: LaunchPlan
    """The launches of these templates."""
    move: Moved | FieldError | None = None
    """The move of the leader's API behind its sidecar, or why it cannot move; None without a sidecar."""


@dataclass(frozen=True, slots=True)
class Input:
    """The argument of mutators and validators: the Intent, the settings, and what follows from both."""

    intent: Intent
    """The author's, with the arguments of blocks in its templates."""
    settings: Settings
    plan: LaunchPlan
    """The launches of the templates of the Intent."""
    layout: Layout
    concerns: frozenset[str]
    """The names of the concerns that there are, and that the author does not skip."""
    about_blocks: tuple[FieldError, ...] = ()
    """The findings of the blocks."""


def read_input(
    intent: Intent, settings: Settings, concerns: frozenset[str], decided: Mapping[str, Any] = UNDECIDED
) -> Input:
    """Plan the launch and the layout of one object, for the given concerns.

    Recorded decisions (`decided`, fields of `Decision`) are taken again. Where no rule leads to the layout
    any more, the launcher alone is taken again.
    """
    full = filled(intent, settings) if LAUNCH in concerns else Filled(intent)
    if not decided:
        return _input(full, settings, concerns, UNDECIDED)
    launcher = {name: value for name, value in decided.items() if name == "launcher"}
    for taken in (decided, launcher):
        given = _input(full, settings, concerns, taken)
        found = decision(given)
        if all(getattr(found, name) == value for name, value in taken.items()):
            return given
    return _input(full, settings, concerns, UNDECIDED)


def decision(given: Input) -> Decision:
    """Return the decisions of a layout."""
    layout = given.layout
    return Decision(
        layout.plan.launcher if layout.plan.rewritten else "",
        any(template.made for template in layout.templates),
        layout.move.to if isinstance(layout.move, Moved) else 0,
    )


def _input(full: Filled, settings: Settings, concerns: frozenset[str], decided: Mapping[str, Any]) -> Input:
    intent = full.intent
    plan = _plan(intent, settings, decided.get("launcher"))
    is_shared = intent.size > 1 and len(intent.templates) == 1
    can_differ = not is_shared or SPLIT in concerns
    if plan.rewritten and not (LAUNCH in concerns and (can_differ or not LAUNCHERS[plan.launcher].splits)):
        plan = replace(plan, rewritten=False)
    leader = _leader(intent, plan, settings)
    can_move = can_differ and {LAUNCH, SIDECAR} <= concerns
    move = engine_move(intent, leader, settings) if can_move and intent.sidecar else None
    if "port" in decided and isinstance(move, Moved):
        move = replace(move, to=decided["port"]) if decided["port"] else None
    is_split = isinstance(move, Moved) or _must_differ(plan, concerns)
    templates, launches = intent.templates, plan.launches
    if is_shared and SPLIT in concerns and decided.get("splits", is_split):
        made = replace(templates[0], field="leaderTemplate", made=True)
        templates = (made, *templates)
        launches = (*(replace(one, template=made) for one in launches), *launches)
    if isinstance(move, Moved) and leader is not None:
        moved = moved_template(templates[0], leader, move)
        launches = tuple(_moved(one, moved, settings) for one in launches)
        templates = (moved, *templates[1:])
    expanded = plan if launches is plan.launches else replace(plan, launches=launches)
    return Input(intent, settings, plan, Layout(templates, expanded, move), concerns, full.findings)


def _plan(intent: Intent, settings: Settings, recorded: str | None) -> LaunchPlan:
    """Return the plan with the recorded launcher, which may be none, in place of the one chosen now."""
    plan = read_plan(intent, settings)
    if recorded is None or recorded == (plan.launcher if plan.rewritten else ""):
        return plan
    if not recorded:
        return replace(plan, rewritten=False)
    return read_plan(replace(intent, launcher=recorded), settings)


def _leader(intent: Intent, plan: LaunchPlan, settings: Settings) -> Launch | None:
    """Return the launch of the leader, whose port may move; it is read even if no launcher is asked for."""
    if not intent.sidecar or not intent.templates:
        return None
    template = intent.templates[0]
    planned = next((one for one in plan.launches if one.template is template), None)
    if planned is None and template.engine is not None:
        return read_launch(template, template.engine, settings.engines)
    return planned


def _moved(launch: Launch, moved: Template, settings: Settings) -> Launch:
    """Return the launch of a template, read again if it is the one whose engine moves."""
    if launch.template.field != moved.field or moved.engine is None:
        return launch
    return read_launch(moved, moved.engine, settings.engines)


def _must_differ(plan: LaunchPlan, concerns: frozenset[str]) -> bool:
    """Return whether leader and workers run different commands, or need different probes."""
    if not plan.rewritten:
        return False
    engine = plan.leader.engine
    is_probed = bool(engine.probes or engine.hooks) and not serve_all(plan) and PROBES in concerns
    return LAUNCHERS[plan.launcher].splits or is_probed


def serve_all(plan: LaunchPlan) -> bool:
    """Return whether the workers serve the API as well as the leader."""
    return LAUNCHERS[plan.launcher].workers_serve(plan.leader)


def misplaced(launch: Launch, given: Input) -> tuple[Probe, ...]:
    """Return the probes and hooks of a worker that are meant for the leader, since workers serve no API."""
    plan = given.layout.plan
    if launch.leads or serve_all(plan) or PROBES not in given.concerns or len(plan.launches) == 1:
        return ()
    leader, found = plan.leader.engine, (*launch.engine.probes, *launch.engine.hooks)
    if plan.leader.template.made:
        return found
    return tuple(one for one in found if one.handler in CALLS and one in (*leader.probes, *leader.hooks))


def startup_port(launch: Launch, given: Input) -> int | str | None:
    """Return the port for a startup probe; None if none is needed or the port is unknown.

    One is needed where the leader has other probes, which would run while it loads the model.
    """
    plan = given.layout.plan
    fields = {probe.field for probe in launch.engine.probes}
    is_leader = launch.leads or (len(plan.launches) == 1 and serve_all(plan))
    is_missing = is_leader and fields and "startupProbe" not in fields and STARTUP in given.concerns
    return api_port(launch) if is_missing else None
