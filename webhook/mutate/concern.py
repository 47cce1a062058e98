"""One row per concern: its mutator, the paths that it writes, its rules, and how an author opts out.

Mutators stay plain functions. `fusioninfer explain` and docs/codes.md find a rule by the path of a field.
Tests check that each field that a mutator writes has a rule of its row, and is one of its paths.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from intent.tree import Overlay
from webhook.layout import Input

Mutator = Callable[[Input], Overlay]
Cause = str
"""An annotation by its key, `SIZE`, or the path of a field of the engine container, such as `args`."""

Paths = dict[str, Any]
"""Paths of an object as nested maps; None is a value of any type. The items of a list share their paths."""

SIZE: Final[Cause] = "size"
"""The size of the group. It causes a field only if it is 2 or more."""
COMMANDS: Final = ("args", "command")
PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True, slots=True)
class Rule:
    """Why a kind of field is added or changed, for `fusioninfer explain` and docs/codes.md."""

    code: str
    fields: str
    """A regular expression for the end of the paths that the rule explains."""
    reason: str
    causes: tuple[Cause, ...]
    """Possible causes. The first one that the author wrote is reported."""

    def is_for(self, path: str) -> bool:
        """Return whether the rule explains the field at `path`."""
        return re.search(f"(?:{self.fields})$", path) is not None


@dataclass(frozen=True, slots=True)
class Concern:
    """One concern of the mutating webhook. To remove one, delete its module and its row in `CONCERNS`."""

    name: str
    """The name of its module and of its mutator."""
    mutate: Mutator
    writes: Paths
    """Every path that the mutator may write."""
    rules: tuple[Rule, ...]
    opt_out: str
    """How an author does without it, for docs/codes.md."""
    skip: str = ""
    """The word of `fusioninfer.io/skip` that leaves it out as a whole."""
    parts: tuple[str, ...] = ()
    """Words of `fusioninfer.io/skip` that leave out a part of it."""
    replaces: frozenset[str] = frozenset()
    """The names of fields whose value may replace one of the author's. Others are only added."""
    unit: str = ""
    """The name that concerns share whose parts stay, or are made anew, together; empty: it stands alone."""


# --- paths --------------------------------------------------------------------------------------------


def values(*names: str) -> Paths:
    """Return the paths of plain fields."""
    return dict.fromkeys(names)


def of_templates(paths: Paths) -> Paths:
    """Return paths that are below both pod templates."""
    return {"spec": {"leaderWorkerTemplate": {"leaderTemplate": paths, "workerTemplate": paths}}}


def of_containers(paths: Paths) -> Paths:
    """Return paths that are below the containers of both pod templates."""
    return of_templates({"spec": {"containers": {"name": None, **paths}}})


def union(*trees: Paths) -> Paths:
    """Return the paths of all trees. Where one tree has a value and another goes deeper, any value may be."""
    found: Paths = {}
    for tree in trees:
        for key, below in tree.items():
            known = found.get(key, {})
            found[key] = None if known is None or below is None else union(known, below)
    return found
