"""One row per concern: its mutator, the paths that it writes, its rules, and how an author opts out.

A mutator is a plain function, of the whole input or of each launch (`for_launches` …). A rule is found by
the path of a field, for `fusioninfer explain` and docs/codes.md. Tests check that each field that a mutator
writes has a rule of its row, and is one of its paths.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Final

from intent import Object
from intent.container import HOOKS
from intent.launch import Launch
from intent.lws import Engine
from intent.tree import NOTHING, Overlay
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
    """One concern of the mutating webhook. To remove one, delete its row in `CONCERNS` and its mutator."""

    name: str
    """The name of its mutator."""
    mutate: Mutator
    writes: Paths
    """Every path that the mutator may write."""
    rules: tuple[Rule, ...]
    opt_out: str
    """How an author does without it, for docs/codes.md."""
    asked: str = ""
    """The field of the Intent without which it does nothing; empty: there is none."""
    skip: str = ""
    """The word of `fusioninfer.io/skip` that leaves it out as a whole."""
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
    paths: Paths = {}
    for tree in trees:
        for key, below in tree.items():
            known = paths.get(key, {})
            paths[key] = None if known is None or below is None else union(known, below)
    return paths


# --- mutators -----------------------------------------------------------------------------------------


def for_launches(write: Callable[[Launch, Input], Overlay], *, written: bool = True) -> Mutator:
    """Return the mutator that writes this overlay into each pod template whose engine is known.

    `written` is whether it does so only where a launcher is written.
    """

    @wraps(write)
    def mutate(inputs: Input) -> Overlay:
        launches = inputs.layout.launches if inputs.plan.rewritten or not written else ()
        return in_group({launch.template.field: write(launch, inputs) for launch in launches})

    return mutate


for_engines: Final = partial(for_launches, written=False)


def in_group(templates: Mapping[str, Overlay]) -> Overlay:
    """Return the overlay of an object from those of its pod templates; empty if all of those are."""
    needed = {field: overlay for field, overlay in templates.items() if overlay}
    return {"spec": {"leaderWorkerTemplate": needed}} if needed else {}


def in_engine(engine: Engine, container: Overlay, pod: Overlay = NOTHING) -> Overlay:
    """Return a pod template's overlay: `container` for the engine, `pod` for the rest of the pod spec."""
    if container:
        pod = {**pod, "containers": [{"name": engine.container, **container}]}
    return {"spec": pod} if pod else {}


def of_probes(written: Overlay) -> Overlay:
    """Return the fields of a container from those of its probes and hooks; hooks are in its lifecycle."""
    hooks = {field: written[field] for field in HOOKS if field in written}
    probes = {field: value for field, value in written.items() if field not in HOOKS}
    return probes | ({"lifecycle": hooks} if hooks else {})


_UNPRIVILEGED: Final[Object] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""The other fields of PodSecurity's `restricted` level are up to the pod or the engine."""


def unprivileged(engine: Engine) -> Object:
    """Return the security context of an init container: without privileges, as the user of the engine."""
    return _UNPRIVILEGED | (json.loads(engine.security) if engine.security else {})
