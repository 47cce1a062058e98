"""Overlays for pod templates: for all of a group, for those that are launched, for the engine container."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from intent import Object
from intent.launch import Launch, has_memory
from intent.lws import Engine, Template
from intent.read import SHM
from intent.tree import NOTHING, Overlay
from webhook.layout import Layout

_UNPRIVILEGED: Final[Object] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""The other fields of PodSecurity's `restricted` level are up to the pod or the engine."""


def memory_volume(launch: Launch) -> str:
    """Return the name of the volume that a launch gets at /dev/shm; empty if it has memory there."""
    if has_memory(launch):
        return ""
    taken = frozenset(launch.template.taken)
    names = (SHM, *(f"{SHM}-{at}" for at in range(1, len(taken) + 1)))
    return next(name for name in names if name not in taken)


def for_templates(layout: Layout, overlay: Overlay) -> Overlay:
    """Return `overlay`, which is one of a pod template, for the leader's and the workers' template."""
    return in_group({template.field: overlay for template in layout.templates})


def for_engines(layout: Layout, template: Callable[[Template, Engine], Overlay]) -> Overlay:
    """Return an overlay with `template(...)` for each pod template whose engine is known."""
    engines = ((one, one.engine) for one in layout.templates if one.engine)
    return in_group({one.field: template(one, engine) for one, engine in engines})


def for_launches(launches: Iterable[Launch], template: Callable[[Launch], Overlay]) -> Overlay:
    """Return an overlay with `template(launch)` for each launched pod template."""
    return in_group({one.template.field: template(one) for one in launches})


def in_group(templates: Mapping[str, Overlay]) -> Overlay:
    """Return the overlay of an object from those of its pod templates; empty if all of those are."""
    needed = {field: overlay for field, overlay in templates.items() if overlay}
    return {"spec": {"leaderWorkerTemplate": needed}} if needed else {}


def in_engine(engine: Engine, container: Overlay, pod: Overlay = NOTHING) -> Overlay:
    """Return a pod template's overlay: `container` for the engine, `pod` for the rest of the pod spec."""
    if container:
        pod = {**pod, "containers": [{"name": engine.container, **container}]}
    return {"spec": pod} if pod else {}


def unprivileged(engine: Engine) -> Object:
    """Return the security context of an init container: without privileges, as the user of the engine."""
    return _UNPRIVILEGED | (json.loads(engine.security) if engine.security else {})
