"""Shared memory: a container's `/dev/shm` has 64 MiB, too little for NCCL, vLLM and Ray's object store."""

from typing import Final

from intent.launch import SHARED_MEMORY, Launch
from intent.tree import Overlay
from webhook.layout import Input
from webhook.mutate.concern import SIZE, Concern, Rule, of_containers, of_templates, union, values
from webhook.mutate.templates import for_launches, in_engine, memory_volume


def shm(inputs: Input) -> Overlay:
    """Mount memory at /dev/shm, unless something is mounted there or the pod shares the node's IPC."""
    plan = inputs.layout.plan
    return for_launches(plan.launches, _memory) if plan.rewritten else {}


def _memory(launch: Launch) -> Overlay:
    """Return the volume and its mount. A memory volume that has the name already is used as it is."""
    name = memory_volume(launch)
    if not name:
        return {}
    volume = {"name": name, "emptyDir": {"medium": "Memory"}}
    mount = {"name": name, "mountPath": SHARED_MEMORY}
    return in_engine(launch.engine, {"volumeMounts": [mount]}, {"volumes": [volume]})


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
            r"\.volumes\[dshm(?:-[0-9]+)?\]",
            "memory for /dev/shm, which has 64 MiB in a container by default",
            (SIZE,),
        ),
        Rule(
            "FI642",
            r"\.volumeMounts\[/dev/shm\]",
            "NCCL, vLLM and Ray's object store share memory there",
            (SIZE,),
        ),
    ),
)
