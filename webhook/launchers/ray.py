"""Ray over the pods of a group: `ray symmetric-run`, or `ray start` where the image's Ray lacks it.

`ray symmetric-run` (Ray 2.54 and later, `python/ray/scripts/symmetric_run.py`) is the same command on every
pod: the one whose address is `--address` becomes the head, waits for exactly `--min-nodes` nodes, then runs
the command after the first `--`.

`ray start` (vLLM `examples/online_serving/multi-node-serving.sh`) is in a small script on every pod. On the
leader it replaces itself with the engine (`exec "$@"`): so the author's arguments stay list items, and the
engine receives signals.
"""

from typing import Final

from intent import Object
from intent.command_line.flags import BACKEND, DATA_BACKEND
from intent.launch import Launch, LaunchPlan, gpus, in_shell, text_of
from webhook.launchers.launcher import HOST_IP, Container, behind_prefix, wrapped

PORT: Final = 6379
"""Ray's GCS, on the leader."""
_EXECUTOR: Final = (f"--{BACKEND}", "ray")
_WAIT: Final = "1800"
"""Seconds that the pods of a group may take to start; Ray's own 30 are too short to pull an image."""
_TPU: Final[Object] = {"name": "TPU_MULTIHOST_BACKEND", "value": "ray"}
"""Without it vLLM on TPUs stays on one pod (tpu-inference `platforms/tpu_platform.py`)."""
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


def ray_symmetric(launch: Launch, _plan: LaunchPlan) -> Container:
    """Wrap the command that starts one node. Inside a shell script, Ray is inserted before the engine."""
    count, address = gpus(launch.engine), f"$(LWS_LEADER_ADDRESS):{PORT}"
    num_gpus = () if count is None else ("--num-gpus", str(count))
    start = ("symmetric-run", "--address", address, "--min-nodes", str(launch.pods), *num_gpus, "--")
    return wrapped(launch, ("ray",), start, executor(launch), (PORT,))


def ray_start(launch: Launch, _plan: LaunchPlan) -> Container:
    """Start Ray's head and the engine on the leader, and a Ray node on each worker."""
    count = gpus(launch.engine)
    script = (_LEADER if launch.leads else _WORKER).format(
        port=PORT,
        node=_NODE,
        num_gpus="" if count is None else f" --num-gpus={count}",
        count=_COUNT.format(size=launch.pods),
    )
    command = (*_SHELL, script)
    if launch.leads or in_shell(launch):
        return wrapped(launch, (*command, "sh"), (), executor(launch), (PORT,))
    return behind_prefix(launch, Container(command, (), (PORT,)))


def executor(launch: Launch) -> tuple[str, ...]:
    """Return the flag that selects Ray, where vLLM does not detect it and the author names no executor.

    Before 0.11.1 it detects Ray on CUDA alone, so images of vendors get the flag in every release.
    """
    is_named = launch.command.flags.last(BACKEND) is not None
    detects = launch.image.starts and not launch.facts.names_executor
    return _EXECUTOR if launch.command.engine == "vllm" and not (detects or is_named) else ()


def ray_env(launch: Launch) -> tuple[Object, ...]:
    """Return the address that other pods reach this one by, and what TPUs need for Ray."""
    is_tpu = launch.image.repository.rpartition("/")[2].startswith("vllm-tpu")
    return (HOST_IP, _TPU) if is_tpu else (HOST_IP,)


def symmetric_env(launch: Launch) -> tuple[Object, ...]:
    """Return variables that let head and workers wait for each other, and the address that Ray uses."""
    return (
        {"name": "RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT", "value": _WAIT},
        {"name": "RAY_py_gcs_connect_timeout_s", "value": _WAIT},
        *ray_env(launch),
    )


def has_ray(launch: Launch) -> bool | None:
    """Return whether the image has Ray, as flags that ask for Ray imply; None if that is unknown."""
    return asks_for_ray(launch) or None if launch.facts.has_ray is None else launch.facts.has_ray


def asks_for_ray(launch: Launch) -> bool:
    """Return whether the author's flags ask for Ray."""
    return "ray" in (text_of(launch, BACKEND), text_of(launch, DATA_BACKEND))
