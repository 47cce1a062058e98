"""The validators. Each yields every finding about its part of the input, errors and warnings alike."""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Final, NamedTuple

from intent.annotations import (
    COMPONENT_TYPE,
    ENDPOINT_PICKER_CONFIG,
    GATEWAY,
    LAUNCHER,
    LORA,
    MODEL,
    PARALLELISM,
    SIDECAR,
    SKIP,
    STRATEGY,
    path,
)
from intent.errors import FieldError
from intent.lws import LWT, Intent
from webhook.layout import Input
from webhook.validate.launch import launch
from webhook.validate.pods import containers, model
from webhook.validate.service import gang, probes, routing, sidecar


class Validator(NamedTuple):
    """One row: a function that yields findings, and what it is about."""

    check: Callable[[Input], Iterable[FieldError]]
    about: tuple[str, ...] = ()
    """Fields of the Intent. It is not called where none of them is set; empty: it is about every object."""


VALIDATORS: Final = (
    Validator(gang),
    Validator(containers),
    Validator(attrgetter("about_blocks")),
    Validator(launch),
    Validator(model, ("model", "model_name", "model_secret", "model_cache", "lora")),
    Validator(probes, ("probed", "routing")),
    Validator(routing, ("routing",)),
    Validator(sidecar, ("sidecar", "sidecar_options")),
)
"""What the blocks report stands in its place: arguments that contradict an annotation."""

UNSET: Final = Intent()
"""An Intent whose fields are as without an annotation."""

OF_AUTHORS: Final = frozenset({"FI307", "FI313", "FI318", "FI328", "FI329", "FI333"})
"""Errors about commands that earlier releases admitted unread: in what is stored already, an edit elsewhere
only warns."""

CONSEQUENCES: Final[Mapping[str, frozenset[str]]] = {
    path(COMPONENT_TYPE): frozenset({"FI107", "FI208", "FI315", "FI568", "FI801", "FI803"}),
    path(LAUNCHER): frozenset({"FI501", "FI502", "FI504", "FI519", "FI532"}),
    path(LORA): frozenset({"FI112", "FI331"}),
    path(MODEL): frozenset({"FI112", "FI306", "FI331"}),
    path(PARALLELISM): frozenset({"FI303", "FI316", "FI501", "FI502", "FI538"}),
    path(SKIP): frozenset({"FI850"}),
    path(SIDECAR): frozenset({"FI851"}),
    path(STRATEGY): frozenset({"FI568", "FI803"}),
    path(GATEWAY): frozenset({"FI803"}),
    path(ENDPOINT_PICKER_CONFIG): frozenset({"FI803"}),
    f"{LWT}.size": frozenset({"FI307", "FI308", "FI501", "FI502"}),
}
"""By the path of a field, the codes that are not reported beside its refused value.

A field whose value is refused is read as absent; findings about its absence would be about a mistake
that the author did not make.
"""

UNFILLED: Final[Mapping[str, frozenset[str]]] = {
    "model": frozenset({"FI306"}),
    "parallelism": frozenset({"FI303", "FI307", "FI316", "FI501", "FI502", "FI537", "FI538"}),
}
"""By the field of a block, the codes that are not reported beside an error of any block.

With an error no argument of any block is written; findings about what is then absent name no mistake.
"""
