"""Checks of a user's EndpointPickerConfig: it is one, in a version that its endpoint picker reads.

An endpoint picker exits at once on an invalid configuration, and its log says why (ADR 58): fields, plugins
and parameters are left to it. But a text that is no YAML, or of another kind, is a mistake in the object.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from catalog.pickers.generations import CONFIG_KIND, PICKERS, Picker
from intent import Object, yaml
from intent.errors import FieldError

LONGEST: Final = 8_192
"""Characters. Longer texts are not parsed: parsing takes linear time, and admission has a deadline."""

BRACKETS: Final = 128
"""Parsing time is quadratic in the depth of brackets; no configuration needs as many."""
LONGEST_MESSAGE: Final = 1000
"""Characters. Messages quote the configuration, which may be long."""

KEPT: Final = 256
"""The number of configurations whose findings are cached."""


def check_config(config: str, picker: Picker, path: str) -> Iterator[FieldError]:
    """Report what keeps every configuration of this form from a generation of endpoint pickers."""
    too_long = f"has {len(config)} characters; the limit is {LONGEST}"
    messages = (too_long,) if len(config) > LONGEST else checked(config, picker.name)
    yield from (FieldError(path, None, message, "FI812") for message in messages)


@lru_cache(maxsize=KEPT)
def checked(config: str, generation: str) -> tuple[str, ...]:
    """Return messages about a text of bounded length; parsing it takes up to a tenth of a second."""
    value, problem = _read(config)
    messages = (problem,) if problem else _kind(value, PICKERS[generation])
    return tuple([message[:LONGEST_MESSAGE] for message in messages])


def _read(config: str) -> tuple[Object, str]:
    """Parse a text as one map; the second value is the problem, empty if there is none."""
    if config.count("[") + config.count("{") > BRACKETS:
        return {}, f"has more than {BRACKETS} brackets; use block style"
    try:
        documents = [document for document in yaml.load(config, yaml.Plain) if document is not None]
    except yaml.UNREADABLE as error:
        return {}, f"must be YAML or JSON: {yaml.problem(error)}"
    if len(documents) != 1 or not isinstance(documents[0], dict):
        return {}, f"must be one {CONFIG_KIND}, a map"
    return documents[0], ""


def _kind(config: Object, picker: Picker) -> Iterator[str]:
    """Kind and apiVersion, if present, are those of the generation."""
    for name, right in (("apiVersion", picker.apis), ("kind", (CONFIG_KIND,))):
        if config.get(name) is not None and config[name] not in right:
            yield f"{name}: must be {right[0]}, which {picker.name} reads"
