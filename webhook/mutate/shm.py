"""Shared memory: a container's `/dev/shm` holds 64 MiB, which NCCL, vLLM and Ray's object store outgrow."""

from typing import Final

from intent.launch import Launch
from intent.lws import Intent, Template
from intent.read import SHM
from intent.settings import Settings
from webhook.launchers.plan import read_plan
from webhook.mutate.templates import for_launches, in_engine
from webhook.overlay.overlay import Overlay

PATH: Final = "/dev/shm"  # noqa: S108 - a path in the container


def shm(intent: Intent, settings: Settings) -> Overlay:
    """Mount memory at /dev/shm, where nothing is mounted and the pod does not use the node's."""
    plan = read_plan(intent, settings)
    return for_launches(plan.launches, _memory) if plan.rewritten and "shm" not in intent.skip else {}


def _memory(launch: Launch) -> Overlay:
    if launch.template.host_ipc or any(path.rstrip("/") == PATH for path in launch.engine.mounts):
        return {}
    name = _name(launch.template)
    volume = {"name": name, "emptyDir": {"medium": "Memory"}}
    mount = {"name": name, "mountPath": PATH}
    return in_engine(launch.engine, {"volumeMounts": [mount]}, {"volumes": [volume]})


def _name(template: Template) -> str:
    """Name the volume as its author could have; a memory volume of that name is taken as it is."""
    taken = frozenset(template.taken)
    names = (SHM, *(f"{SHM}-{at}" for at in range(1, len(taken) + 1)))
    return next(name for name in names if name not in taken)
