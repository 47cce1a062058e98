"""Data-parallel ranks of vLLM over pods: what the engine refuses, or waits for; and servers in each pod."""

from collections.abc import Iterator
from typing import Final

from catalog.engines import Engines, known_model
from intent.annotations import REFRESH
from intent.command_line.command import in_ray
from intent.command_line.flags import (
    ADDRESS,
    CONFIG,
    DATA,
    HEADLESS,
    HYBRID,
    LOCAL_DATA,
    MULTI_PORT,
    NNODES,
    NODE_RANK,
    RANK,
    SERVERS,
    START_RANK,
    SUPERVISOR,
)
from intent.errors import FieldError
from intent.launch import (
    Launch,
    LaunchPlan,
    argument_path,
    has_tls,
    model_of,
    quoted,
    spelled,
    text_of,
)
from intent.lws import Intent
from intent.ranks import ASKED, Ranks, balance, is_headless, local_ranks, read_ranks
from intent.served import HIGHEST, MOST_SERVED, bounded
from intent.service.routes import MOST_PORTS
from webhook.launchers.vllm_native import VLLM_NATIVE, gets_older
from webhook.layout import Input, servers

_INDEPENDENT: Final = (0, 14)
"""The release from which the ranks of a dense model are engines of their own."""
ABOUT: Final = frozenset({DATA, NODE_RANK, START_RANK, *ASKED})
"""Without any of these flags there are no ranks to check."""


def ranks(inputs: Input, launches: tuple[Launch, ...]) -> Iterator[FieldError]:
    """Check the ranks of each template, then how requests are balanced over them (FI329, FI549)."""
    size, plan, engines = inputs.intent.size, inputs.plan, inputs.settings.engines
    shared = [finding for launch in launches for finding in _shared(launch, inputs.intent)]
    yield from shared
    launches = tuple(launch for launch in launches if launch.command.started == "vllm")
    if not launches:
        return
    leader, worker = launches[0], launches[-1]
    flag = next((asked for name in ASKED if (asked := leader.command.flags.last(name))), None)
    ranks = read_ranks(leader, worker, size)
    if flag is not None:
        for reason in _refused(leader, worker, ranks, inputs):
            message = f"{spelled(leader, flag)} {reason}"
            yield FieldError(argument_path(leader, flag.at), None, message, "FI329")
    elif ranks and (plan.rewritten or leader.command.flags.last(NNODES)):
        yield from _with_nnodes(leader, plan, ranks, engines)
    if ranks and size > 1 and not shared:
        yield from _incomplete(leader, worker)


_OWN: Final = "remove it, and the launcher gives each pod its own"
_RANKS: Final = {
    NODE_RANK: ("FI570", "write $(LWS_WORKER_INDEX)"),
    START_RANK: ("FI328", _OWN),
    RANK: ("FI328", _OWN),
}
"""The flags with the rank of one pod, and what to do where several have it."""


def _shared(launch: Launch, intent: Intent) -> Iterator[FieldError]:
    """Report a number in a template of several pods: it gives all of them the same rank; the others hang."""
    pods = intent.size if len(intent.templates) == 1 else 1 if launch.leads else intent.size - 1
    for flag in launch.command.flags.applied.values() if pods > 1 else ():
        if flag.name in _RANKS and text_of(launch, flag.name).isdecimal():
            code, remedy = _RANKS[flag.name]
            message = (
                f"{quoted(launch, flag)} gives the {pods} pods of this template the same rank: {remedy}; "
                "or write a template for each"
            )
            yield FieldError(argument_path(launch, flag.at), None, message, code)


# --- load balancing ---------------------------------------------------------------------------------


def _refused(leader: Launch, worker: Launch, ranks: Ranks | None, inputs: Input) -> Iterator[str]:
    """Yield why the load balancing that an author asks for is not possible."""
    size, flags = inputs.intent.size, leader.command.flags
    asked = {mode: name for name, mode in reversed(ASKED.items()) if flags.last(name)}
    if len(asked) > 1:
        yield f"cannot be used with another load balancing: keep one of {', '.join(sorted(asked.values()))}"
    if ranks and inputs.plan.rewritten:
        yield from _unwritable(leader, ranks, size, inputs.settings.engines)
    if ranks and 0 in ranks.of_pods(size):
        yield f"needs a rank in every pod, since every pod serves: raise --{LOCAL_DATA}, or remove the flag"
    if balance(leader) == "multi-port":
        yield from _without_servers(leader, worker, ranks, inputs)


def _unwritable(leader: Launch, ranks: Ranks, size: int, engines: Engines) -> Iterator[str]:
    """Yield why no launcher writes a load balancing."""
    mode, is_whole = balance(leader), not size % ranks.data
    if mode == "external" and not is_whole:
        yield (
            f"runs one rank a pod, and {size} pods are no multiple of {ranks.data} ranks: "
            f"use --{HYBRID} or --{MULTI_PORT}"
        )
    if mode != "multi-port" and ranks.spans and is_whole:
        yield (
            f"needs whole ranks in each pod, and {ranks.data} ranks span {size} pods: remove it, "
            "and the leader serves all ranks (internal load balancing)"
        )
    if mode == "external" and local_ranks(leader) not in {None, 1}:
        yield f"runs one rank a pod: remove --{LOCAL_DATA}"
    if _is_dense(leader, engines) and (mode != "hybrid" or ranks.worker == 1):
        yield "needs a mixture-of-experts model: of a dense one, run a LeaderWorkerSet with more replicas"


def _without_servers(leader: Launch, worker: Launch, ranks: Ranks | None, inputs: Input) -> Iterator[str]:
    """Yield why vLLM's supervisor starts no server for each rank of a pod."""
    counts = ranks.of_pods(inputs.intent.size) if ranks else ()
    if has_tls(leader):
        yield "has no TLS: remove --ssl-certfile"
    if text_of(leader, SERVERS) not in {"", "1"}:
        yield f"starts one server a rank: remove --{SERVERS}"
    if ranks and any(count < 2 or ranks.data % count for count in counts):
        yield f"needs a --{LOCAL_DATA} of 2 or more that divides {ranks.data}"
    if len({*counts}) > 1:
        yield f"gives all pods the same ports: write the same --{LOCAL_DATA} in both templates"
    serving = servers(leader, worker, inputs.intent.size)
    if bounded(serving) != serving:
        yield (
            f"needs a port for each of at most {MOST_SERVED - 1} ranks of a pod, and a --{SUPERVISOR} beside "
            f"them, all up to {HIGHEST}"
        )
    if len(serving.ports) > MOST_PORTS and inputs.intent.routing.wanted:
        yield f"has more ranks a pod than an InferencePool has ports, {MOST_PORTS}: lower --{LOCAL_DATA}"


def _is_dense(launch: Launch, engines: Engines) -> bool | None:
    """Return whether the release refuses the model, which has no experts; None if that is unknown."""
    known = known_model(engines, model_of(launch) or "")
    if launch.image.version and launch.image.version < _INDEPENDENT:
        return False
    return None if known is None else not known.experts


def _incomplete(leader: Launch, worker: Launch) -> Iterator[FieldError]:
    """FI518: a launch by hand whose ranks do not find each other, or whose workers are no part of it."""
    for launch in {launch.template.field: launch for launch in (leader, worker)}.values():
        flags, command = launch.command.flags, launch.engine.command + launch.engine.args
        own = next((flag for name in (RANK, START_RANK, HEADLESS) if (flag := flags.last(name))), None)
        if launch.command.kind != "distributed" or own is None or in_ray(command):
            continue
        problem = ""
        if not any(map(flags.last, (ADDRESS, NNODES, CONFIG))):
            problem = f"--{ADDRESS} for its ranks to meet"
        elif flags.last(START_RANK) and launch is not leader and not is_headless(launch):
            is_mixed = balance(leader) == "internal" and not any(map(flags.last, ASKED))
            problem = "--headless beside a leader that serves all ranks" if is_mixed else ""
        if problem:
            message = f"add {problem}; or, to use a launcher, remove {spelled(launch, own)}"
            yield FieldError(argument_path(launch, own.at), None, message, "FI518")


def _with_nnodes(leader: Launch, plan: LaunchPlan, ranks: Ranks, engines: Engines) -> Iterator[FieldError]:
    """Report ranks that `--nnodes` starts in a release that takes those of a dense model apart."""
    dense = _is_dense(leader, engines)
    has_it = not plan.rewritten or (plan.launcher == VLLM_NATIVE and not gets_older(plan))
    is_known = has_it and bool(leader.image.version)
    if not is_known or leader.facts.nnodes_data or not leader.facts.nnodes or dense is False:
        return
    where = f"{leader.template.engine_path}.image"
    if not ranks.spans:
        by_hand = f"write --{ADDRESS} and --{START_RANK} instead, or use vLLM 0.28 or later"
        remedy = f"set {REFRESH} to any text, and the launch gets other flags" if plan.rewritten else by_hand
        message = (
            f"{leader.image} starts data-parallel ranks by --nnodes only if the model has experts: {remedy}"
        )
        yield FieldError(where, None, message, "FI549")
        return
    cause = f"{leader.image} does not start data-parallel ranks that span pods"
    if dense:
        message = f"must be vLLM 0.28 or later, or before 0.14: {cause} of a dense model"
        yield FieldError(where, leader.engine.image, message, "FI329")
    else:
        yield FieldError(where, None, f"{cause}, unless its model has experts: use 0.28 or later", "FI549")
