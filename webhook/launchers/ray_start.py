"""`ray start` on every pod, then the engine on the leader: for images whose Ray has no `symmetric-run`.

Source: vLLM `examples/online_serving/multi-node-serving.sh`. The author's arguments stay list items: a small
script starts Ray, then replaces itself with the engine (`exec "$@"`), so that the engine receives signals.
"""

from typing import Final

from intent.command_line.flags import BACKEND, DATA_BACKEND
from intent.launch import Launch, LaunchPlan, gpus, in_shell, text_of
from webhook.launchers.container import Container, behind_prefix, wrapped
from webhook.launchers.ray_symmetric import PORT, executor

_SHELL: Final = ("/bin/sh", "-c")
_NODE: Final = '${VLLM_HOST_IP:+--node-ip-address="$VLLM_HOST_IP"}'
"""Ray must use the address that vLLM advertises."""
_COUNT: Final = (
    'import ray; ray.init(address="auto", logging_level="ERROR"); '
    'exit(sum(node["Alive"] for node in ray.nodes()) < {size})'
)
_LEADER: Final = """\
set -e
ray start --head --port={port} {node}{num_gpus} --disable-usage-stats
until python3 -c '{count}'; do sleep 2; done
exec "$@"
"""
_WORKER: Final = """\
until ray health-check --address "$LWS_LEADER_ADDRESS:{port}" >/dev/null 2>&1; do sleep 2; done
exec ray start --address="$LWS_LEADER_ADDRESS:{port}" {node}{num_gpus} --block --disable-usage-stats
"""


def ray_start(launch: Launch, _plan: LaunchPlan, size: int) -> Container:
    """Start Ray's head and the engine on the leader, and a Ray node on each worker."""
    command = (*_SHELL, _script(launch, size))
    if launch.leads or in_shell(launch):
        return wrapped(launch, (*command, "sh"), (), executor(launch), (PORT,))
    return behind_prefix(launch, Container(command, (), (PORT,)))


def _script(launch: Launch, size: int) -> str:
    count = gpus(launch.engine)
    num_gpus = "" if count is None else f" --num-gpus={count}"
    text = _LEADER if launch.leads else _WORKER
    return text.format(port=PORT, node=_NODE, num_gpus=num_gpus, count=_COUNT.format(size=size))


def has_ray(launch: Launch) -> bool | None:
    """Return whether the image has Ray, as flags that ask for Ray imply; None if that is unknown."""
    return asks_for_ray(launch) or None if launch.facts.has_ray is None else launch.facts.has_ray


def asks_for_ray(launch: Launch) -> bool:
    """Return whether the author's flags ask for Ray."""
    return "ray" in (text_of(launch, BACKEND), text_of(launch, DATA_BACKEND))
