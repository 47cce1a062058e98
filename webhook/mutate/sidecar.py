"""The sidecar of a decoder: it has each prompt prefilled elsewhere, then hands it to the engine beside it.

A native sidecar, an init container that stays (Kubernetes 1.29 and later): it is there before the engine
starts, and ends after it.
"""

from typing import Final

from catalog.pickers.generations import Sidecar
from intent import Object
from intent.container import CALLS, ROUTING_PROXY
from intent.lws import Engine, Intent, Moved, Probe, Template
from intent.settings import Settings
from webhook.launchers.launcher import POD_IP
from webhook.launchers.sidecar import sidecar_of
from webhook.mutate.templates import in_engine
from webhook.overlay.overlay import Overlay

LIMITS: Final = {"cpu": "1", "memory": "512Mi"}
"""As requests too, by default: a Guaranteed pod stays one. Spelled as LWS does."""
SECURITY: Final[Object] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""PodSecurity's `restricted`; the image's user is 65532 (llm-d-routing-sidecar `Dockerfile`)."""
_ASKED: Final = CALLS | {"grpc"}
"""Handlers that ask a port."""


def sidecar(intent: Intent, settings: Settings) -> Overlay:
    """Put it on the port that others call, and have the probes ask the engine, which makes room."""
    row = sidecar_of(intent, settings)
    opens = "port" not in intent.skip
    made = {
        one.field: _template(one, one.engine, one.moved, row, opens=opens)
        for one in intent.templates
        if row and one.moved and one.engine
    }
    return {"spec": {"leaderWorkerTemplate": made}} if made else {}


def _template(template: Template, engine: Engine, moved: Moved, row: Sidecar, *, opens: bool) -> Overlay:
    proxy = _proxy(moved, row, declares=opens and moved.port not in template.ports.taken)
    ports: Overlay = {"ports": [{"containerPort": moved.to}]} if opens else {}
    container = ports | _asking(template, engine, moved)
    return in_engine(engine, container, {"initContainers": [proxy]})


def _proxy(moved: Moved, row: Sidecar, *, declares: bool) -> Object:
    """Write the container. Its `/health` says yes at once, so it tells of the sidecar alone."""
    container: Object = {
        "name": ROUTING_PROXY,
        "image": row.image,
        "args": [f"--port={moved.port}", f"--vllm-port={moved.to}", *row.flags],
        "restartPolicy": "Always",
        "env": [{"name": "POD_IP", "valueFrom": POD_IP}],
    }
    if declares:
        container["ports"] = [{"containerPort": moved.port}]
    container["readinessProbe"] = {"httpGet": {"path": "/health", "port": moved.port}}
    container["resources"] = {"limits": dict(LIMITS)}
    container["securityContext"] = SECURITY
    return container


def _asking(template: Template, engine: Engine, moved: Moved) -> Overlay:
    """Have probes and hooks that ask the served port, by number or by name, ask the engine where it is."""
    names = dict(template.ports.named)

    def ask(asked: tuple[Probe, ...]) -> Overlay:
        served = (one for one in asked if names.get(str(one.port), one.port) == moved.port)
        return {one.field: {one.handler: {"port": moved.to}} for one in served if one.handler in _ASKED}

    hooks = ask(engine.hooks)
    return ask(engine.probes) | ({"lifecycle": hooks} if hooks else {})
