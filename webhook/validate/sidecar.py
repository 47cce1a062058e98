"""The routing sidecar of a decoder: why it cannot be injected, and probes that it would answer."""

from collections.abc import Iterator

from intent.errors import FieldError
from intent.lws import Intent
from intent.settings import Settings
from webhook.launchers.sidecar import engine_move


def sidecar(intent: Intent, settings: Settings) -> Iterator[FieldError]:
    """Check the leader, if it gets a sidecar."""
    found = engine_move(intent, settings)
    if isinstance(found, FieldError):
        yield found
    elif found is not None:
        leader = intent.templates[0]
        for probe in leader.engine.probes if leader.engine else ():
            if probe.handler == "exec":
                message = (
                    f"the engine listens on {found.to}: a command that calls {found.port} reaches the sidecar"
                )
                yield FieldError(f"{leader.engine_path}.{probe.field}", None, message, "FI853")
