"""`ray symmetric-run`: the same command on every pod, the engine on the leader (Ray 2.54 and later).

Source: Ray `python/ray/scripts/symmetric_run.py`. The pod whose address is `--address` becomes the head;
it waits for exactly `--min-nodes` nodes, then runs the command after the first `--`.
"""

from typing import Final

from intent import Object
from intent.command_line.flags import BACKEND
from intent.launch import Launch, LaunchPlan, gpus
from webhook.launchers.container import Container, wrapped
from webhook.launchers.launcher import HOST_IP

PORT: Final = 6379
"""Ray's GCS, on the leader."""
_ADDRESS: Final = f"$(LWS_LEADER_ADDRESS):{PORT}"
_EXECUTOR: Final = (f"--{BACKEND}", "ray")
_WAIT: Final = "1800"
"""Seconds that the pods of a group may take to start; Ray's own 30 are too short to pull an image."""


_TPU: Final[Object] = {"name": "TPU_MULTIHOST_BACKEND", "value": "ray"}
"""Without it vLLM on TPUs stays on one pod (tpu-inference `platforms/tpu_platform.py`)."""


def ray_env(launch: Launch) -> tuple[Object, ...]:
    """Return the address that other pods reach this one by, and what TPUs need for Ray."""
    is_tpu = launch.image.repository.rpartition("/")[2].startswith("vllm-tpu")
    return (HOST_IP, _TPU) if is_tpu else (HOST_IP,)


def needs_env(launch: Launch) -> tuple[Object, ...]:
    """Return variables that let head and workers wait for each other, and the address that Ray uses."""
    return (
        {"name": "RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT", "value": _WAIT},
        {"name": "RAY_py_gcs_connect_timeout_s", "value": _WAIT},
        *ray_env(launch),
    )


def ray_symmetric(launch: Launch, _plan: LaunchPlan, size: int) -> Container:
    """Wrap the command that starts one node. Inside a shell script, Ray is inserted before the engine."""
    count = gpus(launch.engine)
    num_gpus = () if count is None else ("--num-gpus", str(count))
    start = ("symmetric-run", "--address", _ADDRESS, "--min-nodes", str(size), *num_gpus, "--")
    return wrapped(launch, ("ray",), start, executor(launch), (PORT,))


def executor(launch: Launch) -> tuple[str, ...]:
    """Return the flag that selects Ray, where vLLM does not detect it and the author names no executor.

    Before 0.11.1 it detects Ray on CUDA alone, so images of vendors get the flag in every release.
    """
    is_named = launch.command.flags.last(BACKEND) is not None
    detects = launch.image.starts and not launch.facts.names_executor
    return _EXECUTOR if launch.command.is_vllm and not (detects or is_named) else ()
