"""One row per concern: its mutator, the rules that explain its fields, and how an author opts out.

Mutators stay plain functions. `fusioninfer explain` and docs/codes.md find a rule by the path of a field.
Tests check that each field that a mutator writes has a rule, and that the rule names that mutator.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from intent import annotations as keys
from intent.lws import Intent
from intent.settings import Settings
from webhook.overlay.overlay import Overlay

Mutator = Callable[[Intent, Settings], Overlay]
Step = str
Input = tuple[Step, ...]
"""A path into the object as the author wrote it. `TEMPLATE` and `ENGINE` are those of the field itself."""

TEMPLATE: Final = "<template>"
ENGINE: Final = "<engine>"

SERVICE: Final[Input] = ("metadata", "annotations", keys.SERVICE)
COMPONENT_TYPE: Final[Input] = ("metadata", "annotations", keys.COMPONENT_TYPE)
ROLE_NAME: Final[Input] = ("metadata", "annotations", keys.ROLE_NAME)
SCHEDULER_NAME: Final[Input] = ("metadata", "annotations", keys.SCHEDULER_NAME)
LAUNCHER: Final[Input] = ("metadata", "annotations", keys.LAUNCHER)
STRATEGY: Final[Input] = ("metadata", "annotations", keys.STRATEGY)
PICKER: Final[Input] = ("metadata", "annotations", keys.PICKER)
SIZE: Final[Input] = ("spec", "leaderWorkerTemplate", "size")
"""The size of the group. It causes a field only if it is 2 or more."""


def engine_field(field: str) -> Input:
    """Return the path of a field of the engine container."""
    return (TEMPLATE, "spec", "containers", ENGINE, field)


PROBES: Final = tuple(engine_field(field) for field in ("livenessProbe", "readinessProbe", "startupProbe"))


@dataclass(frozen=True, slots=True)
class Rule:
    """Why a kind of field is added or changed, for `fusioninfer explain` and docs/codes.md."""

    code: str
    concern: str
    """The name of the mutator and of its module."""
    fields: str
    """A regular expression for the end of the paths that the rule explains."""
    reason: str
    inputs: tuple[Input, ...]
    """Possible causes. The first one that the author wrote is reported."""

    def is_for(self, path: str) -> bool:
        """Return whether the rule explains the field at `path`."""
        return re.search(f"(?:{self.fields})$", path) is not None


@dataclass(frozen=True, slots=True)
class Concern:
    """One concern of the mutating webhook."""

    mutate: Mutator
    opt_out: str
    """How an author does without it, for docs/codes.md."""
    rules: tuple[Rule, ...]
