"""The annotations about routes, as far as one LeaderWorkerSet shows."""

from collections.abc import Iterator

from intent.annotations import ENDPOINT_PICKER_CONFIG, NO_ROUTING, SERVICE, path
from intent.errors import FieldError
from intent.gang import DISAGGREGATED, ENCODER
from intent.pickers.configuration import check_config
from intent.service.routes import (
    LONGEST_SERVICE,
    named_like_picker,
    picker_of,
    routing_problem,
    without_effect,
)
from webhook.layout import Input


def routing(inputs: Input) -> Iterator[FieldError]:
    """Check what needs no other member of the service. Most objects have no such annotation."""
    intent, settings = inputs.intent, inputs.settings
    asked = intent.routing
    if asked == NO_ROUTING or intent.component_type == ENCODER:
        return  # routes lead to the members beside an encoder, which decide the strategy
    split = intent.component_type in DISAGGREGATED
    if problem := routing_problem(asked, split=split, settings=settings):
        yield problem
    if not split and (found := without_effect(asked)):
        # with prefill and decode another member may have the missing annotations
        key, message = found
        yield FieldError(path(key), None, message, "FI803")
    if asked.wanted and (taken := named_like_picker(intent.name, intent.service)):
        yield taken
    if len(intent.service) > LONGEST_SERVICE:
        message = (
            f"must be at most {LONGEST_SERVICE} characters with routes: a Service has this name with -epp"
        )
        yield FieldError(path(SERVICE), intent.service, message, "FI109")
    if asked.config:
        picker = picker_of(asked, split=split, settings=settings)
        yield from check_config(asked.config, picker, path(ENDPOINT_PICKER_CONFIG))
