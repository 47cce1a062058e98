"""InferenceTemplates, as admission gets them: the objects by name, or why there is none.

Admission reads nothing itself: its caller passes the templates that `fusioninfer.io/base-refs` names.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from intent import Object

TEMPLATES_LIMIT: Final = 8
"""Templates that one object may name."""
LARGEST: Final = 64 * 1024
"""Bytes of a spec, as JSON, and of the content of all templates of one object."""
TOO_LARGE: Final = "FI952"
MALFORMED: Final = "FI954"
APPLY_IT: Final = "apply it, or correct the name"
"""The remedy for one that does not exist."""


class Unavailable(NamedTuple):
    """A template that could not be read."""

    reason: str
    """The rest of a sentence about it, and the remedy: `does not exist: apply it`."""


Templates = Mapping[str, Object | Unavailable]
"""By name: the InferenceTemplate as it was read, whole, or why it was not."""
