"""What an author asks of routes, as far as one object tells."""

from collections.abc import Iterator

from intent.annotations import ENDPOINT_PICKER_CONFIG, NO_ROUTING, SERVICE, path
from intent.errors import FieldError
from intent.gang import DISAGGREGATED
from intent.lws import Intent
from intent.pickers.configuration import check_config
from intent.service.routes import (
    LONGEST_SERVICE,
    leads_nowhere,
    named_like_picker,
    picker_of,
    routing_problem,
)
from intent.settings import Settings


def routing(intent: Intent, settings: Settings) -> Iterator[FieldError]:
    """Check what there is to check without the other members; most objects say nothing about routes."""
    asked = intent.routing
    if asked == NO_ROUTING:
        return
    split = intent.component_type in DISAGGREGATED
    if problem := routing_problem(asked, split=split, settings=settings):
        yield problem
    yield from _reachable(intent, split=split)
    if asked.wanted and (taken := named_like_picker(intent.name, intent.service)):
        yield taken
    if len(intent.service) > LONGEST_SERVICE:
        message = (
            f"must be at most {LONGEST_SERVICE} characters with routes: a Service is named so, with -epp"
        )
        yield FieldError(path(SERVICE), intent.service, message, "FI109")
    if asked.config:
        picker = picker_of(asked, split=split, settings=settings)
        yield from check_config(asked.config, picker, path(ENDPOINT_PICKER_CONFIG))


def _reachable(intent: Intent, *, split: bool) -> Iterator[FieldError]:
    """Refuse what leads nowhere on a worker; of prefillers and decoders another one may say the rest."""
    if not split and (found := leads_nowhere(intent.routing)):
        key, message = found
        yield FieldError(path(key), None, message, "FI803")
