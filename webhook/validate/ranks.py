"""Data-parallel ranks of vLLM over pods: what the engine refuses, and what it would wait for."""

from collections.abc import Iterator
from typing import Final

from catalog.engines import EXTERNAL_LB, MULTI_PORT_LB, Engines, has, known_model
from intent.command_line.flags import EXTERNAL, LOCAL_DATA, MULTI_PORT, NODE_RANK, RANK, SERVERS, START_RANK
from intent.errors import FieldError
from intent.launch import Launch, LaunchPlan, argument_path, has_tls, model_of, quoted, spelled, text_of
from intent.lws import Intent
from intent.ranks import ASKED, Ranks, balance, local_ranks, read_ranks
from intent.service.routes import MOST_PORTS
from webhook.launchers.vllm_native import has_ranks
from webhook.layout import Input

_RELEASES: Final = {EXTERNAL: EXTERNAL_LB, MULTI_PORT: MULTI_PORT_LB}
_INDEPENDENT: Final = (0, 14)
"""The release from which the ranks of a dense model are engines of their own."""


def ranks(given: Input, launches: tuple[Launch, ...]) -> Iterator[FieldError]:
    """Check the ranks of each template, then how requests are balanced over them (FI329, FI549)."""
    for one in launches:
        yield from _shared(one, given.intent)
    launches = tuple(one for one in launches if "vllm" in (one.command.engine, one.command.within))
    if not launches:
        return
    leader, worker = launches[0], launches[-1]
    flag = next((asked for name in ASKED if (asked := leader.command.flags.last(name))), None)
    found = read_ranks(leader, worker, given.intent.size)
    if flag is not None:
        problems = (
            *_of_flags(leader, given.settings.engines),
            *(_of_servers(leader, found, given) if balance(leader) == "multi-port" else ()),
            *(_of_group(leader, found, given) if given.plan.rewritten and found else ()),
        )
        for problem in problems[:1]:
            yield FieldError(
                argument_path(leader, flag.at), None, f"{spelled(leader, flag)} {problem}", "FI329"
            )
    elif given.plan.rewritten and found:
        yield from _spanning(given.plan, given.settings.engines)


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


def _of_flags(launch: Launch, engines: Engines) -> Iterator[str]:
    """Yield what holds for one command line."""
    asked = {mode: name for name, mode in reversed(ASKED.items()) if launch.command.flags.last(name)}
    version = launch.image.version
    if len(asked) > 1:
        yield f"cannot be used with another load balancing: keep one of {', '.join(sorted(asked.values()))}"
    for name, trait in _RELEASES.items():
        if version and launch.command.flags.last(name) and not has(engines, "vllm", trait, version):
            shown = ".".join(map(str, version))
            yield f"is not in vLLM {shown}: use a newer image, or --data-parallel-hybrid-lb"


def _of_servers(launch: Launch, found: Ranks | None, given: Input) -> Iterator[str]:
    """Yield what the supervisor of several servers refuses (`validate_multi_port_external_lb_args`)."""
    serving, servers = given.layout.serving, text_of(launch, SERVERS)
    if has_tls(launch):
        yield "has no TLS: remove --ssl-certfile"
    if servers not in {"", "1"}:
        yield f"starts one server a rank: remove --{SERVERS}"
    if found and (found.worker < 2 or found.data % found.worker):
        yield f"needs a --{LOCAL_DATA} of 2 or more that divides {found.data}"
    if serving.supervisor in serving.ports:
        yield f"needs a --data-parallel-supervisor-port beside those of the ranks, {serving.ports[0]} and up"
    if len(serving.ports) > MOST_PORTS and given.intent.routing.wanted:
        count = len(serving.ports)
        yield f"has {count} ranks a pod, an InferencePool at most {MOST_PORTS} ports: lower --{LOCAL_DATA}"


def _of_group(launch: Launch, found: Ranks, given: Input) -> Iterator[str]:
    """Yield what does not fit the pods of a group, or the model."""
    size, mode = given.intent.size, balance(launch)
    one_each = mode == "external" or (mode == "hybrid" and found.worker == 1)
    if mode == "external" and size % found.data:
        yield (
            f"runs one rank a pod, and {size} pods are no multiple of {found.data} ranks: "
            "use --data-parallel-hybrid-lb or --data-parallel-multi-port-external-lb"
        )
    elif mode == "external" and size != found.data:
        yield (
            f"needs one pod a rank, and {found.data} ranks span {size} pods: remove it, "
            "and the leader serves all ranks (internal load balancing)"
        )
    if mode == "external" and local_ranks(launch) not in {None, 1}:
        yield f"runs one rank a pod: remove --{LOCAL_DATA}"
    if (one_each or mode == "multi-port") and _is_dense(launch, given.settings.engines) is True:
        yield "needs a mixture-of-experts model: of a dense one, run a LeaderWorkerSet with more replicas"


def _is_dense(launch: Launch, engines: Engines) -> bool | None:
    """Return whether the release refuses the model, which has no experts; None if that is unknown."""
    known = known_model(engines, model_of(launch) or "")
    if launch.image.version and launch.image.version < _INDEPENDENT:
        return False
    return None if known is None else not known.experts


def _spanning(plan: LaunchPlan, engines: Engines) -> Iterator[FieldError]:
    """Report data-parallel ranks that span pods in a release that takes a dense model's apart."""
    leader, facts = plan.leader, plan.leader.facts
    is_known = not plan.older and has_ranks(leader) and bool(leader.image.version)
    if not is_known or facts.nnodes_data or not facts.nnodes or plan.launcher != "vllm-native":
        return
    dense = _is_dense(leader, engines)
    if dense is False:
        return
    where = f"{leader.template.engine_path}.image"
    cause = f"{leader.image} does not start data-parallel ranks that span pods"
    if dense:
        message = f"must be vLLM 0.28 or later, or before 0.14: {cause} of a dense model"
        yield FieldError(where, leader.engine.image, message, "FI329")
    else:
        yield FieldError(where, None, f"{cause}, unless its model has experts: use 0.28 or later", "FI549")
