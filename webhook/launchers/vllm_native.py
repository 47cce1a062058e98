"""vLLM's own launch over several nodes, without Ray: the same command everywhere.

Source: vLLM `docs/deployment/frameworks/lws.md` and `vllm/engine/arg_utils.py`. There are two forms:

    --nnodes       `--nnodes`, `--node-rank` and `--master-addr` cover every kind of parallelism
    older flags    those of data parallelism alone, where a rank fits a pod: the pods get their ranks

The second is for releases in which `--nnodes` fails with data parallelism (`NNODES_DATA`) or that are not
known, and in all releases for ranks that `--nnodes` spreads wrongly: it overwrites the rank of each server
with multi-port load balancing, and takes the pods' local sizes for equal.
"""

from typing import Final

from intent import Object
from intent.accelerators import TPU
from intent.command_line.flags import (
    DATA,
    DATA_BACKEND,
    END,
    LOCAL_DATA,
    RANK,
    RPC,
    SERVERS,
    START_RANK,
)
from intent.launch import Launch, LaunchPlan, in_shell, serve_arguments, text_of
from intent.ranks import Ranks, balance, read_ranks
from webhook.launchers.launcher import HOST_IP, Args, Container, appended, behind_prefix, in_script, scripted

VLLM_NATIVE: Final = "vllm-native"
LEADER: Final = "$(LWS_LEADER_ADDRESS)"
INDEX: Final = "$(LWS_WORKER_INDEX)"
_HEADLESS: Final = "--headless"
_RPC_PORT: Final = "13345"
"""From vLLM's own example; there is no default that works for several nodes."""
_BINDS_HOST_IP: Final = (0, 17)


def vllm_native(launch: Launch, plan: LaunchPlan) -> Container:
    """Add the leader's address and the pod's rank. With internal load balancing workers serve no API.

    Multi-port and `--nnodes` are together in records of earlier releases alone, with headless workers.
    """
    mode, older = balance(plan.leader), gets_older(plan)
    is_headless = mode == "internal" or (mode == "multi-port" and not older)
    headless = (_HEADLESS,) if is_headless and not launch.leads else ()
    dropped = _of_servers(launch) if headless else frozenset[int]()
    if not older:
        flags = ("--nnodes", str(launch.pods), "--node-rank", INDEX, "--master-addr", LEADER, *headless)
        return appended(launch, flags, without=dropped)
    ranks = read_ranks(plan.leader, plan.worker, launch.pods) or Ranks(0, 1, 1)
    count = ranks.leader if launch.leads else ranks.worker
    local = () if launch.command.flags.last(LOCAL_DATA) else (f"--{LOCAL_DATA}", str(count))
    port = () if launch.command.flags.last(RPC) else (f"--{RPC}", _RPC_PORT)
    flags = ("--data-parallel-address", LEADER, *port)
    if mode == "external":
        rank = () if launch.command.flags.last(RANK) else (f"--{RANK}", INDEX)
        return appended(launch, (*flags, *rank))
    flags = (*local, *flags, *headless)
    if launch.leads:
        return appended(launch, flags if mode == "internal" else (*flags, f"--{START_RANK}", "0"))
    start = f"--{START_RANK} $(({_start(ranks)}))"
    if in_shell(launch):
        return in_script(launch, (), (*flags, start), without=dropped, text_only=True)
    return _through_shell(launch, start, flags, dropped)


def _start(ranks: Ranks) -> str:
    """Return the first rank of a pod, in the arithmetic of a shell."""
    if ranks.leader == ranks.worker:
        return f"LWS_WORKER_INDEX*{ranks.worker}"
    return f"{ranks.leader}+(LWS_WORKER_INDEX-1)*{ranks.worker}"


def native_env(launch: Launch) -> tuple[Object, ...]:
    """Return the address that the leader's queues bind to; before 0.17 they bind to `--master-addr`."""
    version = launch.image.version
    return () if version and version < _BINDS_HOST_IP else (HOST_IP,)


def _through_shell(launch: Launch, start: str, flags: Args, dropped: frozenset[int]) -> Container:
    """Compute the first rank in a shell, since the kubelet cannot; the other arguments stay list items."""
    start_at = launch.command.program
    args = [item for i, item in enumerate(serve_arguments(launch)[0]) if i >= start_at and i not in dropped]
    shell = ("/bin/sh", "-c", f'exec "$@" {start}', "sh")
    return behind_prefix(launch, Container(shell, (*args, *flags)))


def _of_servers(launch: Launch) -> frozenset[int]:
    """Return the indices of `--api-server-count` and its value: vLLM refuses it with `--headless`."""
    (args, _), command = serve_arguments(launch), launch.command
    places, start = set[int](), 0
    for flag in command.flags.given:
        if flag.name == SERVERS:
            start = args.index(command.argv[flag.at], start)
            places.update(range(start, start + flag.width))
            start += flag.width
    return frozenset(places)


def is_older(leader: Launch, worker: Launch) -> bool:
    """Return whether a launch gets the older flags."""
    ranks = read_ranks(leader, worker, leader.pods)
    if not has_ranks(leader) or (ranks and ranks.spans):
        return False
    is_uneven = ranks is not None and ranks.leader != ranks.worker
    is_known = leader.facts.nnodes_data and bool(leader.image.version)
    is_own = leader.command.flags.last(RANK) is not None
    return not is_known or is_uneven or is_own or balance(leader) == "multi-port"


def gets_older(plan: LaunchPlan) -> bool:
    """Return whether a plan has the older flags; if a record does not say so, where `--nnodes` is missing."""
    return has_ranks(plan.leader) and not plan.leader.facts.nnodes if plan.older is None else plan.older


def has_ranks(launch: Launch) -> bool:
    """Return whether there may be several data-parallel ranks."""
    return text_of(launch, DATA) not in {"", "1"}


def has_native(launch: Launch) -> bool | None:
    """Return whether the image's vLLM has the flags of one of the forms; None if its version is unknown.

    Over pods of TPUs it spreads with Ray alone: without it tpu-inference replaces the executor
    (`tpu_inference/platforms/tpu_platform.py`).
    """
    if launch.engine.accelerators.resource == TPU:
        return False
    if not (launch.image.version or launch.image.least):
        return None
    facts = launch.facts
    if has_ranks(launch) and not spans(launch):
        return facts.native_data
    return facts.nnodes and facts.nnodes_span


def spans(launch: Launch) -> bool:
    """Return whether each rank is known to span pods, if all pods have the same."""
    ranks = read_ranks(launch, launch, launch.pods)
    return ranks is not None and ranks.spans


def takes(launch: Launch) -> bool:
    """Return whether the command line can be launched on several nodes.

    It cannot if the old server module is run, which has no headless workers (vllm-project/vllm#36875); if the
    text of a script sets `--api-server-count`, which cannot be removed for workers; if a `--` ends the flags
    and a shell would add the first rank after it; or with the Ray backend of data parallelism.
    """
    kind = launch.command.kind
    servers = launch.command.flags.last(SERVERS)
    if servers and scripted(launch, servers.at) and balance(launch) == "internal":
        return False
    if END in launch.command.argv[launch.command.arguments :] and is_older(launch, launch):
        return False
    if kind == "interpreter" or (kind in {"module", "flags"} and in_shell(launch)):
        return False
    return text_of(launch, DATA_BACKEND) != "ray"
