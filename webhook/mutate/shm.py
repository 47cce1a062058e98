"""Shared memory: a container's `/dev/shm` has 64 MiB, too little for NCCL, vLLM and Ray's object store."""

from typing import Final

from intent.launch import SHARED_MEMORY, Launch, has_memory
from intent.quantity import of_bytes
from intent.read import SHM as VOLUME
from intent.tree import Overlay
from webhook.layout import Input
from webhook.mutate.concern import (
    SIZE,
    Concern,
    Rule,
    for_launches,
    in_engine,
    of_containers,
    of_templates,
    union,
    values,
)


@for_launches
def shm(launch: Launch, _inputs: Input) -> Overlay:
    """Mount memory at /dev/shm, unless something is mounted there or the pod shares the node's IPC.

    A memory volume that has the name already is used as it is.
    """
    name = _volume(launch)
    if not name:
        return {}
    volume = {"name": name, "emptyDir": {"medium": "Memory"}}
    mount = {"name": name, "mountPath": SHARED_MEMORY}
    return in_engine(launch.engine, {"volumeMounts": [mount]}, {"volumes": [volume]})


def _volume(launch: Launch) -> str:
    """Return the name of the volume that a launch gets at /dev/shm; empty if it has memory there."""
    if has_memory(launch):
        return ""
    taken = frozenset(launch.template.taken)
    names = (VOLUME, *(f"{VOLUME}-{at}" for at in range(1, len(taken) + 1)))
    return next(name for name in names if name not in taken)


SHM: Final = Concern(
    "shm",
    shm,
    unit="shm",
    writes=union(
        of_containers({"volumeMounts": values("name", "mountPath")}),
        of_templates({"spec": {"volumes": values("name", "emptyDir")}}),
    ),
    skip="shm",
    opt_out="mount a volume at /dev/shm yourself, or set `fusioninfer.io/skip: shm`",
    rules=(
        Rule(
            "FI641",
            r"\.volumes\[dshm(?:-[0-9]+)?\]|\.volumeMounts\[/dev/shm\]",
            "NCCL, vLLM and Ray's object store share memory there; by default a container has 64 MiB",
            (SIZE,),
        ),
    ),
)


@for_launches
def shm_limit(launch: Launch, inputs: Input) -> Overlay:
    """Bound the volume at /dev/shm by the engine's memory limit, to which its pages count anyway.

    Without a size the node decides, and some policies refuse the pods.
    """
    name, limit = _volume(launch), launch.engine.memory_limit
    if not name or not limit or name in launch.template.memory or "shm" not in inputs.concerns:
        return {}
    bounded = {"name": name, "emptyDir": {"sizeLimit": of_bytes(limit)}}
    return in_engine(launch.engine, {}, {"volumes": [bounded]})


SHM_LIMIT: Final = Concern(
    "shm_limit",
    shm_limit,
    unit="shm",
    writes=of_templates({"spec": {"volumes": values("name", "emptyDir")}}),
    skip="shm-limit",
    opt_out="mount a volume at /dev/shm yourself, or set `fusioninfer.io/skip: shm-limit`",
    rules=(
        Rule(
            "FI643",
            r"\.volumes\[dshm(?:-[0-9]+)?\]\.emptyDir\.sizeLimit",
            "the engine's memory limit: its pages count to that, and some policies require a size",
            ("resources.limits.memory",),
        ),
    ),
)
