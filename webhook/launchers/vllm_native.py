"""vLLM's own launch over several nodes, without Ray: the same command everywhere, workers without an API.

Source: vLLM `docs/deployment/frameworks/lws.md` and `vllm/engine/arg_utils.py`. From 0.11.1 on
`--nnodes`, `--node-rank` and `--master-addr` cover tensor, pipeline and data parallelism. Earlier releases
have flags for data parallelism alone: each pod gets its first rank.
"""

from typing import Final

from intent import Object
from intent.command_line.flags import DATA, DATA_BACKEND, END, HYBRID, LOCAL_DATA, RPC, SERVERS
from intent.launch import Launch, countable, in_shell, read_size, read_sizes, serve_arguments, text_of
from webhook.launchers.container import Args, Container, appended, behind_prefix, in_script, scripted
from webhook.launchers.launcher import HOST_IP

LEADER: Final = "$(LWS_LEADER_ADDRESS)"
INDEX: Final = "$(LWS_WORKER_INDEX)"
_HEADLESS: Final = "--headless"
_RPC_PORT: Final = "13345"
"""From vLLM's own example; there is no default that works for several nodes."""
_BINDS_HOST_IP: Final = (0, 17)
_SERVES_EVERYWHERE: Final = (HYBRID, "data-parallel-external-lb")


def vllm_native(launch: Launch, size: int) -> Container:
    """Add the leader's address and the pod's rank to the command. Workers serve no API."""
    if is_data_only(launch):
        return _data_parallel(launch, size)
    flags = ("--nnodes", str(size), "--node-rank", INDEX, "--master-addr", LEADER)
    if launch.leads or serves_everywhere(launch):
        return appended(launch, flags)
    return appended(launch, (*flags, _HEADLESS), without=_of_servers(launch))


def native_env(launch: Launch) -> tuple[Object, ...]:
    """Return the address that the leader's queues bind to; before 0.17 they bind to `--master-addr`."""
    version = launch.image.version
    return () if version and version < _BINDS_HOST_IP else (HOST_IP,)


def _data_parallel(launch: Launch, size: int) -> Container:
    local = read_size(launch, LOCAL_DATA) if text_of(launch, LOCAL_DATA) else None
    ranks = local or max((read_size(launch, DATA) or size) // size, 1)
    given = () if local else ("--data-parallel-size-local", str(ranks))
    port = () if launch.command.flags.last(RPC) else (f"--{RPC}", _RPC_PORT)
    flags = (*given, "--data-parallel-address", LEADER, *port)
    if launch.leads:
        return appended(launch, flags)
    start = f"--data-parallel-start-rank $((LWS_WORKER_INDEX*{ranks}))"
    if in_shell(launch):
        dropped = _of_servers(launch)
        return in_script(launch, (), (*flags, _HEADLESS, start), without=dropped, text_only=True)
    return _through_shell(launch, start, (*flags, _HEADLESS))


def _through_shell(launch: Launch, start: str, flags: Args) -> Container:
    """Compute the first rank in a shell, since the kubelet cannot; the other arguments stay list items."""
    dropped = _of_servers(launch)
    start_at = launch.command.program
    args = [item for at, item in enumerate(serve_arguments(launch)) if at >= start_at and at not in dropped]
    shell = ("/bin/sh", "-c", f'exec "$@" {start}', "sh")
    return behind_prefix(launch, Container(shell, (*args, *flags)))


def _of_servers(launch: Launch) -> frozenset[int]:
    """Return the indices of `--api-server-count` and its value: vLLM refuses it with `--headless`."""
    args = serve_arguments(launch)
    found = (flag for flag in launch.command.flags.given if flag.name == SERVERS)
    dropped: set[int] = set()
    for flag in found:
        at = args.index(launch.command.argv[flag.at])
        dropped.update(range(at, at + flag.width))
    return frozenset(dropped)


def serves_everywhere(launch: Launch) -> bool:
    """Return whether every pod serves its own API, behind a load balancer."""
    return any(launch.command.flags.last(name) for name in _SERVES_EVERYWHERE)


def is_data_only(launch: Launch) -> bool:
    """Return whether the launch is data-parallel and the image has multi-node flags for nothing else."""
    facts = launch.facts
    return facts.native_data and not facts.nnodes and text_of(launch, DATA) not in {"", "1"}


def has_native(launch: Launch) -> bool | None:
    """Return whether the image's vLLM has the flags; None if its version is unknown.

    Before `--nnodes` the flags of data parallelism suffice where each rank fits a pod.
    """
    if not launch.image.version:
        return None
    if launch.facts.nnodes or not is_data_only(launch):
        return launch.facts.nnodes
    sizes, pod = read_sizes(launch), countable(launch.engine)
    return bool(sizes and pod and sizes.accelerators // sizes.data <= pod)


def takes(launch: Launch) -> bool:
    """Return whether the command line can be launched on several nodes.

    It cannot if the old server module is run, which has no headless workers (vllm-project/vllm#36875); if the
    text of a script sets `--api-server-count`, which cannot be removed for workers; if a `--` ends the flags
    and a shell would add the first rank after it; or with the Ray backend of data parallelism.
    """
    kind = launch.command.kind
    servers = launch.command.flags.last(SERVERS)
    if servers and scripted(launch, servers.at) and not serves_everywhere(launch):
        return False
    if is_data_only(launch) and END in launch.command.argv[launch.command.arguments :]:
        return False
    if kind == "interpreter" or (kind in {"module", "flags"} and in_shell(launch)):
        return False
    return text_of(launch, DATA_BACKEND) != "ray"
