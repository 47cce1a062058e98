"""`ray symmetric-run`: the same command on every pod, the engine on the leader (Ray 2.54 and later).

Source: Ray `python/ray/scripts/symmetric_run.py`. The pod whose address is `--address` becomes the head;
it waits until exactly `--min-nodes` nodes are there, then runs what stands behind the first `--`.
"""

from dataclasses import replace
from typing import Final

from intent import Object
from intent.command_line.flags import BACKEND
from intent.launch import Launch, gpus, in_shell
from webhook.launchers.container import Container, behind_prefix, flagged, in_script
from webhook.launchers.launcher import HOST_IP

PORT: Final = 6379
"""Ray's GCS, on the leader."""
_ADDRESS: Final = f"$(LWS_LEADER_ADDRESS):{PORT}"
_EXECUTOR: Final = (f"--{BACKEND}", "ray")
_WAIT: Final = "1800"
"""Seconds that all pods of a group may take to be there; Ray's own 30 do not cover the pull of an image."""


def needs_env(_launch: Launch) -> tuple[Object, ...]:
    """Let head and workers wait for each other, and give vLLM the address that Ray knows the pod by."""
    return (
        {"name": "RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT", "value": _WAIT},
        {"name": "RAY_py_gcs_connect_timeout_s", "value": _WAIT},
        HOST_IP,
    )


def ray_symmetric(launch: Launch, size: int) -> Container:
    """Wrap one node of the engine; a shell that must stay keeps its script, and Ray is written into it."""
    start, behind = _symmetric_run(launch, size), executor(launch)
    if in_shell(launch):
        return replace(in_script(launch, ("ray", *start), behind), ports=(PORT,))
    return behind_prefix(launch, Container(("ray",), (*start, *flagged(launch, behind)), (PORT,)))


def _symmetric_run(launch: Launch, size: int) -> tuple[str, ...]:
    count = gpus(launch.engine)
    num_gpus = () if count is None else ("--num-gpus", str(count))
    return ("symmetric-run", "--address", _ADDRESS, "--min-nodes", str(size), *num_gpus, "--")


def executor(launch: Launch) -> tuple[str, ...]:
    """Name Ray as the executor where vLLM would not find out, and its author has not."""
    is_named = launch.command.flags.last(BACKEND) is not None
    return _EXECUTOR if launch.command.is_vllm and launch.facts.names_executor and not is_named else ()


def has_symmetric_run(launch: Launch) -> bool | None:
    """Whether the image's Ray has it, over several nodes; None if that is not known."""
    return launch.facts.symmetric_run
