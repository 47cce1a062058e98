"""The sidecar of a decoder: what stands in its way, and which probes it would answer for the engine."""

from collections.abc import Iterator

from intent.errors import FieldError
from intent.lws import Intent
from intent.settings import Settings
from webhook.launchers.sidecar import makes_room


def sidecar(intent: Intent, settings: Settings) -> Iterator[FieldError]:
    """Check the leader, where a sidecar is asked for."""
    found = makes_room(intent, settings)
    if isinstance(found, FieldError):
        yield found
    elif found is not None:
        leader = intent.templates[0]
        for probe in leader.engine.probes if leader.engine else ():
            if probe.handler == "exec":
                message = f"the engine is on {found.to}: a command that calls {found.port} asks the sidecar"
                yield FieldError(f"{leader.engine_path}.{probe.field}", None, message, "FI853")
