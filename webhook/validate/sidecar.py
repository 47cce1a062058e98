"""The routing sidecar of a decoder: why it cannot be injected, its options, and probes that it answers."""

from collections.abc import Iterator

from intent.annotations import DISAGGREGATION, SIDECAR, STRATEGY, path
from intent.errors import FieldError, nearest, suggested
from intent.sidecar import NO_OPTIONS
from webhook.layout import Input
from webhook.move import sidecar_of


def sidecar(inputs: Input) -> Iterator[FieldError]:
    """Check the leader, if it gets a sidecar."""
    yield from _options(inputs)
    found = inputs.layout.move
    if isinstance(found, FieldError):
        yield found
    elif found is not None:
        leader = inputs.intent.templates[0]
        for probe in leader.engine.probes if leader.engine else ():
            if probe.handler == "exec":
                message = (
                    f"the engine is moved to port {found.to}: a command that calls {found.port} reaches the "
                    f"sidecar; call {found.to}, or use httpGet"
                )
                yield FieldError(f"{leader.engine_path}.{probe.field}", None, message, "FI853")


def _options(inputs: Input) -> Iterator[FieldError]:
    """FI568, FI840: there is a sidecar, and it knows its options."""
    intent, where = inputs.intent, path(SIDECAR)
    row, options = sidecar_of(intent, inputs.settings), intent.sidecar_options
    if options == NO_OPTIONS:
        return
    if not intent.sidecar:
        message = f"has no effect: remove it; only a decoder with {STRATEGY}: {DISAGGREGATION} has a sidecar"
        yield FieldError(where, None, message, "FI568")
        return
    if row and options.connector and options.connector not in row.connectors:
        hint = suggested(nearest(options.connector, row.connectors))
        message = f"this sidecar has no connector {options.connector}; use one of {', '.join(row.connectors)}"
        yield FieldError(where, options.connector, message + hint, "FI840", part="connector")
