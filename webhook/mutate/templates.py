"""Overlays for pod templates: for all of a group, for those that are launched, for the engine container."""

from collections.abc import Callable, Iterable
from typing import Final

from intent.launch import Launch
from intent.lws import Engine
from intent.read import SHM
from intent.tree import NOTHING, Overlay
from webhook.layout import Layout

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a path in the container


def memory_volume(launch: Launch) -> str:
    """Return the name of the volume that a launch gets at /dev/shm; empty if it has memory there."""
    if launch.template.host_ipc or any(path.rstrip("/") == SHARED_MEMORY for path in launch.engine.mounts):
        return ""
    taken = frozenset(launch.template.taken)
    names = (SHM, *(f"{SHM}-{at}" for at in range(1, len(taken) + 1)))
    return next(name for name in names if name not in taken)


def for_templates(layout: Layout, overlay: Overlay) -> Overlay:
    """Return `overlay`, which is one of a pod template, for the leader's and the workers' template."""
    return {"leaderWorkerTemplate": {template.field: overlay for template in layout.templates}}


def for_launches(launches: Iterable[Launch], template: Callable[[Launch], Overlay]) -> Overlay:
    """Return an overlay with `template(launch)` for each launched pod template; empty if all of those are."""
    needed = {one.template.field: overlay for one in launches if (overlay := template(one))}
    return {"spec": {"leaderWorkerTemplate": needed}} if needed else {}


def in_engine(engine: Engine, container: Overlay, pod: Overlay = NOTHING) -> Overlay:
    """Return a pod template's overlay: `container` for the engine, `pod` for the rest of the pod spec."""
    if container:
        pod = {**pod, "containers": [{"name": engine.container, **container}]}
    return {"spec": pod} if pod else {}
