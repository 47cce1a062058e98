"""Say one thing to every pod template that there will be."""

from collections.abc import Callable, Iterable

from intent.launch import Launch
from intent.lws import Engine, Intent
from webhook.overlay.overlay import NOTHING, Overlay


def for_templates(intent: Intent, overlay: Overlay) -> Overlay:
    """Put an overlay of a pod template on the leader's and the workers'."""
    return {"leaderWorkerTemplate": {template.field: overlay for template in intent.templates}}


def for_launches(launches: Iterable[Launch], template: Callable[[Launch], Overlay]) -> Overlay:
    """Put on every pod template that is launched what it needs, which may be nothing."""
    needed = {one.template.field: overlay for one in launches if (overlay := template(one))}
    return {"spec": {"leaderWorkerTemplate": needed}} if needed else {}


def in_engine(engine: Engine, container: Overlay, beside: Overlay = NOTHING) -> Overlay:
    """Put an overlay of a container on the engine, and another beside it in the pod; nothing if empty."""
    if container:
        beside = {**beside, "containers": [{"name": engine.container, **container}]}
    return {"spec": beside} if beside else {}
