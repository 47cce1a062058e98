"""Data-parallel ranks of vLLM over pods: what the engine refuses, or waits for; and servers in each pod."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from catalog.engines import Engines, known_model
from intent.annotations import REFRESH
from intent.command_line.command import in_ray
from intent.command_line.flags import (
    ADDRESS,
    CONFIG,
    HEADLESS,
    LOCAL_DATA,
    NNODES,
    NODE_RANK,
    RANK,
    SERVERS,
    START_RANK,
    SUPERVISOR,
)
from intent.errors import FieldError
from intent.launch import (
    VLLM_NATIVE,
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
from intent.served import HIGHEST, MOST_SERVED, Serving, bounded
from intent.service.routes import MOST_PORTS
from webhook.launchers.vllm_native import gets_older
from webhook.layout import Input
from webhook.serving import servers

_INDEPENDENT: Final = (0, 14)
"""The release from which the ranks of a dense model are engines of their own."""


def ranks(inputs: Input, launches: tuple[Launch, ...]) -> Iterator[FieldError]:
    """Check the ranks of each template, then how requests are balanced over them (FI329, FI549)."""
    shared = [found for one in launches for found in _shared(one, inputs.intent)]
    yield from shared
    launches = tuple(one for one in launches if "vllm" in (one.command.engine, one.command.within))
    if not launches:
        return
    leader, worker = launches[0], launches[-1]
    flag = next((asked for name in ASKED if (asked := leader.command.flags.last(name))), None)
    found = read_ranks(leader, worker, inputs.intent.size)
    if flag is not None:
        case = _Case(leader, worker, found, inputs)
        for modes, is_wrong, says in _REFUSED:
            if balance(leader) in modes and is_wrong(case):
                message = f"{spelled(leader, flag)} {says.format(case=case)}"
                yield FieldError(argument_path(leader, flag.at), None, message, "FI329")
    elif found and (inputs.plan.rewritten or leader.command.flags.last(NNODES)):
        yield from _with_nnodes(leader, inputs.plan, found, inputs.settings.engines)
    if found and inputs.intent.size > 1 and not shared:
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
    for name, (code, remedy) in _RANKS.items() if pods > 1 else ():
        flag = launch.command.flags.last(name)
        if flag and text_of(launch, name).isdecimal():
            message = (
                f"{quoted(launch, flag)} gives the {pods} pods of this template the same rank: {remedy}; "
                "or write a template for each"
            )
            yield FieldError(argument_path(launch, flag.at), None, message, code)


# --- load balancing ---------------------------------------------------------------------------------


class _Case(NamedTuple):
    """A group whose author asks for a load balancing, and its ranks, if they are known."""

    leader: Launch
    worker: Launch
    ranks: Ranks | None
    inputs: Input

    @property
    def written(self) -> Ranks | None:
        """The ranks of a launch that is written; None of one that its author wrote."""
        return self.ranks if self.inputs.plan.rewritten else None

    @property
    def size(self) -> int:
        """The number of pods."""
        return self.inputs.intent.size

    @property
    def counts(self) -> tuple[int, ...]:
        """The ranks of each kind of pod, if they are known."""
        return self.ranks.of_pods(self.size) if self.ranks else ()

    @property
    def serving(self) -> Serving:
        """The servers of a pod that has one for each rank."""
        return servers(self.leader, self.worker, self.size)

    @property
    def asked(self) -> str:
        """The flags of its load balancings, one of each."""
        named = {mode: name for name, mode in reversed(ASKED.items()) if self.leader.command.flags.last(name)}
        return ", ".join(sorted(named.values()))

    @property
    def dense(self) -> bool:
        """Whether the release refuses the model, since it has no experts."""
        return _is_dense(self.leader, self.inputs.settings.engines) is True


_ALL: Final = ("hybrid", "external", "multi-port")
_Row = tuple[tuple[str, ...], Callable[[_Case], object], str]
_REFUSED: Final[tuple[_Row, ...]] = (
    (
        _ALL,
        lambda one: "," in one.asked,
        "cannot be used with another load balancing: keep one of {case.asked}",
    ),
    (
        ("external",),
        lambda one: one.written and one.size % one.written.data,
        (
            "runs one rank a pod, and {case.size} pods are no multiple of {case.ranks.data} ranks: "
            "use --data-parallel-hybrid-lb or --data-parallel-multi-port-external-lb"
        ),
    ),
    (
        ("hybrid", "external"),
        lambda one: one.written and one.written.spans and not one.size % one.written.data,
        (
            "needs whole ranks in each pod, and {case.ranks.data} ranks span {case.size} pods: remove it, "
            "and the leader serves all ranks (internal load balancing)"
        ),
    ),
    (
        ("external",),
        lambda one: one.written and local_ranks(one.leader) not in {None, 1},
        f"runs one rank a pod: remove --{LOCAL_DATA}",
    ),
    (
        _ALL,
        lambda one: (
            one.written and one.dense and (balance(one.leader) != "hybrid" or one.written.worker == 1)
        ),
        "needs a mixture-of-experts model: of a dense one, run a LeaderWorkerSet with more replicas",
    ),
    (
        _ALL,
        lambda one: 0 in one.counts,
        f"needs a rank in every pod, since every pod serves: raise --{LOCAL_DATA}, or remove the flag",
    ),
    (("multi-port",), lambda one: has_tls(one.leader), "has no TLS: remove --ssl-certfile"),
    (
        ("multi-port",),
        lambda one: text_of(one.leader, SERVERS) not in {"", "1"},
        f"starts one server a rank: remove --{SERVERS}",
    ),
    (
        ("multi-port",),
        lambda one: any(count < 2 or one.ranks.data % count for count in one.counts if one.ranks),
        f"needs a --{LOCAL_DATA} of 2 or more that divides {{case.ranks.data}}",
    ),
    (
        ("multi-port",),
        lambda one: len({*one.counts}) > 1,
        f"gives all pods the same ports: write the same --{LOCAL_DATA} in both templates",
    ),
    (
        ("multi-port",),
        lambda one: bounded(one.serving) != one.serving,
        (
            f"needs a port for each of at most {MOST_SERVED - 1} ranks of a pod, and a --{SUPERVISOR} beside "
            f"them, all up to {HIGHEST}"
        ),
    ),
    (
        ("multi-port",),
        lambda one: len(one.serving.ports) > MOST_PORTS and one.inputs.intent.routing.wanted,
        f"has more ranks a pod than an InferencePool has ports, {MOST_PORTS}: lower --{LOCAL_DATA}",
    ),
)
"""The load balancings that are refused, when, and why."""


def _is_dense(launch: Launch, engines: Engines) -> bool | None:
    """Return whether the release refuses the model, which has no experts; None if that is unknown."""
    known = known_model(engines, model_of(launch) or "")
    if launch.image.version and launch.image.version < _INDEPENDENT:
        return False
    return None if known is None else not known.experts


def _incomplete(leader: Launch, worker: Launch) -> Iterator[FieldError]:
    """FI518: a launch by hand whose ranks do not find each other, or whose workers are no part of it."""
    for one in {one.template.field: one for one in (leader, worker)}.values():
        flags, command = one.command.flags, one.engine.command + one.engine.args
        own = next((flag for name in (RANK, START_RANK, HEADLESS) if (flag := flags.last(name))), None)
        if one.command.kind != "distributed" or own is None or in_ray(command):
            continue
        problem = ""
        if not any(map(flags.last, (ADDRESS, NNODES, CONFIG))):
            problem = f"--{ADDRESS} for its ranks to meet"
        elif flags.last(START_RANK) and one is not leader and not is_headless(one):
            is_mixed = balance(leader) == "internal" and not any(map(flags.last, ASKED))
            problem = "--headless beside a leader that serves all ranks" if is_mixed else ""
        if problem:
            message = f"add {problem}; or, to use a launcher, remove {spelled(one, own)}"
            yield FieldError(argument_path(one, own.at), None, message, "FI518")


def _with_nnodes(leader: Launch, plan: LaunchPlan, found: Ranks, engines: Engines) -> Iterator[FieldError]:
    """Report ranks that `--nnodes` starts in a release that takes those of a dense model apart."""
    dense = _is_dense(leader, engines)
    has_it = not plan.rewritten or (plan.launcher == VLLM_NATIVE and not gets_older(plan))
    is_known = has_it and bool(leader.image.version)
    if not is_known or leader.facts.nnodes_data or not leader.facts.nnodes or dense is False:
        return
    where = f"{leader.template.engine_path}.image"
    if not found.spans:
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
