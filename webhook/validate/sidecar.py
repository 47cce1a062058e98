"""The routing sidecar of a decoder: why it cannot be injected, and probes that it would answer."""

from collections.abc import Iterator

from intent.errors import FieldError
from webhook.layout import Input


def sidecar(given: Input) -> Iterator[FieldError]:
    """Check the leader, if it gets a sidecar."""
    found = given.layout.move
    if isinstance(found, FieldError):
        yield found
    elif found is not None:
        leader = given.intent.templates[0]
        for probe in leader.engine.probes if leader.engine else ():
            if probe.handler == "exec":
                message = (
                    f"the engine is moved to port {found.to}: a command that calls {found.port} reaches the "
                    f"sidecar; call {found.to}, or use httpGet"
                )
                yield FieldError(f"{leader.engine_path}.{probe.field}", None, message, "FI853")
