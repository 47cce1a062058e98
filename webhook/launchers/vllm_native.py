"""vLLM's own launch over several nodes, without Ray: the same command everywhere, workers without an API.

Source: vLLM `docs/deployment/frameworks/lws.md` and `vllm/engine/arg_utils.py`. From 0.11.1 on
`--nnodes`, `--node-rank` and `--master-addr` say it all, for tensor, pipeline and data parallelism. Before
that only data parallelism has flags for it: each pod says with which rank it starts.
"""

from typing import Final

from intent import Object
from intent.command_line.flags import DATA, DATA_BACKEND, END, HYBRID, LOCAL_DATA, SERVERS
from intent.launch import Launch, countable, in_shell, read_size, read_sizes, serve_words, text_of
from webhook.launchers.container import Container, Words, appended, behind_prefix, in_script, scripted
from webhook.launchers.launcher import HOST_IP

LEADER: Final = "$(LWS_LEADER_ADDRESS)"
INDEX: Final = "$(LWS_WORKER_INDEX)"
_HEADLESS: Final = "--headless"
_RPC_PORT: Final = "13345"
"""vLLM's own example; it has no default that holds for several nodes."""
_BINDS_HOST_IP: Final = (0, 17)
_SERVES_EVERYWHERE: Final = (HYBRID, "data-parallel-external-lb")


def vllm_native(launch: Launch, size: int) -> Container:
    """Give every pod its rank; a worker serves no API."""
    if is_data_only(launch):
        return _data_parallel(launch, size)
    behind = ("--nnodes", str(size), "--node-rank", INDEX, "--master-addr", LEADER)
    if launch.leads or serves_everywhere(launch):
        return appended(launch, behind)
    return appended(launch, (*behind, _HEADLESS), without=_of_servers(launch))


def native_env(launch: Launch) -> tuple[Object, ...]:
    """Bind the leader's queues to the pod's address; before 0.17 they bind to what `--master-addr` names."""
    version = launch.image.version
    return () if version and version < _BINDS_HOST_IP else (HOST_IP,)


def _data_parallel(launch: Launch, size: int) -> Container:
    local = read_size(launch, LOCAL_DATA) if text_of(launch, LOCAL_DATA) else None
    ranks = local or max((read_size(launch, DATA) or size) // size, 1)
    given = () if local else ("--data-parallel-size-local", str(ranks))
    behind = (*given, "--data-parallel-address", LEADER, "--data-parallel-rpc-port", _RPC_PORT)
    if launch.leads:
        return appended(launch, behind)
    start = f"--data-parallel-start-rank $((LWS_WORKER_INDEX*{ranks}))"
    if in_shell(launch):
        dropped = _of_servers(launch)
        return in_script(launch, (), (*behind, _HEADLESS, start), without=dropped, text_only=True)
    return _through_shell(launch, start, (*behind, _HEADLESS))


def _through_shell(launch: Launch, start: str, behind: Words) -> Container:
    """Let a shell multiply, which the kubelet cannot; every other word stays a list item."""
    dropped = _of_servers(launch)
    start_at = launch.command.program
    words = [word for at, word in enumerate(serve_words(launch)) if at >= start_at and at not in dropped]
    shell = ("/bin/sh", "-c", f'exec "$@" {start}', "sh")
    return behind_prefix(launch, Container(shell, (*words, *behind)))


def _of_servers(launch: Launch) -> frozenset[int]:
    """Find `--api-server-count` among the words: vLLM refuses it beside `--headless`."""
    words = serve_words(launch)
    found = (flag for flag in launch.command.flags.given if flag.name == SERVERS)
    dropped: set[int] = set()
    for flag in found:
        at = words.index(launch.command.argv[flag.at])
        dropped.update(range(at, at + flag.width))
    return frozenset(dropped)


def serves_everywhere(launch: Launch) -> bool:
    """Whether every pod serves an API of its own, for a balancer before them."""
    return any(launch.command.flags.last(name) for name in _SERVES_EVERYWHERE)


def is_data_only(launch: Launch) -> bool:
    """Whether data parallelism is asked for, and the image has flags for that and none for the rest."""
    facts = launch.facts
    asks = text_of(launch, DATA) not in {"", "1"}
    return facts.native_data and not facts.nnodes and asks


def has_native(launch: Launch) -> bool | None:
    """Whether the image's vLLM has the flags; None if its version is not known.

    Before `--nnodes` there are those of data parallelism, which are enough where each rank fits a pod.
    """
    if not launch.image.version:
        return None
    return launch.facts.nnodes or (is_data_only(launch) and _fits_ranks(launch))


def _fits_ranks(launch: Launch) -> bool:
    sizes, pod = read_sizes(launch), countable(launch.engine)
    return bool(sizes and pod and sizes.accelerators // sizes.data <= pod)


def takes(launch: Launch) -> bool:
    """Whether a worker can go without an API: the old module cannot (vllm-project/vllm#36875).

    And whether a shell may write the first rank behind all words: not where a `--` ends the flags. And
    whether a worker can go without API servers: not where a script's text asks for them.
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
