"""The validators: one concern per module. A validator yields every finding, errors and warnings alike."""

from collections.abc import Callable, Iterator
from typing import Final

from intent.errors import FieldError
from webhook.layout import Input
from webhook.validate.blocks import blocks
from webhook.validate.gang import gang
from webhook.validate.labels import labels
from webhook.validate.launch import launch
from webhook.validate.model import model
from webhook.validate.probes import probes
from webhook.validate.routing import routing
from webhook.validate.sidecar import sidecar

Validator = Callable[[Input], Iterator[FieldError]]

VALIDATORS: Final[tuple[Validator, ...]] = (
    *(labels, gang, blocks, launch, model),
    *(probes, routing, sidecar),
)
