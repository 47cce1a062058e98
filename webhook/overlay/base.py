"""The base of an object: what its templates say, and what of that was put under the author's object.

A record keeps it as the member `base`, so that a later write reads no template:

    refs, for, refresh    the input: the names, the component type, and `refresh` with `templates-version`
    from                  of each template name, namespace, uid and generation
    pods, leader          the pod template of all pods; that of leaders, where it differs
    annotations           what blocks of templates ask for
    args, leaderArgs      by container, how its arguments merge, if not by flag; those of leaders, if others
    faults                why there is no content, as codes and messages
    set, was              the fields that were put under it, and the author's values there

`set` is applied again while the rules of a release add the same to the stored and the live object: a release
that merges differently changes nothing (P1). Older records have a digest too, which is not read.
"""

from typing import Any, Final, NamedTuple

import msgspec
import orjson

from intent import Object, budget
from intent.annotations import LORA, MODEL, MODEL_CACHE, MODEL_NAME, MODEL_SECRET, PARALLELISM, PRIORITY
from intent.command_line.merge import MODES
from intent.template import LARGEST, MALFORMED, TOO_LARGE
from intent.tree import Overlay
from webhook.overlay.overlay import fits

MISSING: Final = "FI951"
FAULTS: Final = frozenset({MISSING, TOO_LARGE, MALFORMED})
BLOCKS: Final = (MODEL, MODEL_NAME, MODEL_SECRET, MODEL_CACHE, PARALLELISM, LORA, PRIORITY)
"""The annotations that a template may give."""
_PATHS: Final[Object] = {
    "metadata": {"annotations": dict.fromkeys(BLOCKS)},
    "spec": {"leaderWorkerTemplate": {"leaderTemplate": None, "workerTemplate": None}},
}


class ContentKey(NamedTuple):
    """What decides which content an object gets."""

    refs: tuple[str, ...]
    component_type: str
    refresh: str


class Base(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    rename={
        "component_type": "for",
        "sources": "from",
        "modes": "args",
        "leader_modes": "leaderArgs",
        "put_on": "set",
    },
):
    """The content of all templates of one object, or why there is none; and what it added to the object."""

    refs: tuple[str, ...]
    component_type: str
    refresh: str = ""
    sources: tuple[tuple[str, str, str, int], ...] = ()
    pods: Overlay = msgspec.field(default_factory=dict)
    leader: Overlay | None = None
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    modes: dict[str, str] = msgspec.field(default_factory=dict)
    leader_modes: dict[str, str] | None = None
    faults: tuple[tuple[str, str], ...] = ()
    put_on: Overlay = msgspec.field(default_factory=dict)
    was: Overlay = msgspec.field(default_factory=dict)

    @property
    def key(self) -> ContentKey:
        """Return the input that the content was read for."""
        return ContentKey(self.refs, self.component_type, self.refresh)

    @property
    def of_leader(self) -> tuple[Overlay, dict[str, str]]:
        """Return the pod template of leaders, and how the arguments of its containers merge."""
        pods = self.pods if self.leader is None else self.leader
        return pods, self.modes if self.leader_modes is None else self.leader_modes

    @property
    def has_content(self) -> bool:
        """Return whether all templates were read."""
        return bool(self.refs) and not self.faults


NO_BASE: Final = Base((), "")


def read_base(value: Any) -> Base | None:
    """Decode the member of a record; None if it is not one that `fusioninfer` writes."""
    try:
        base = msgspec.convert(value, Base)
    except msgspec.ValidationError:
        return None
    modes = {*base.modes.values(), *(base.leader_modes or {}).values()}
    known = base.annotations.keys() <= set(BLOCKS) and modes <= MODES.keys()
    is_ours = known and {code for code, _ in base.faults} <= FAULTS and fits(base.put_on, _PATHS)
    return base if is_ours and not excess(base) else None


def excess(base: Base) -> str:
    """Return what of a content is over a limit; empty for nothing."""
    content: Object = {"pods": base.pods, "leader": base.leader, "annotations": base.annotations}
    if (used := len(orjson.dumps(content))) > LARGEST:
        both = (
            "" if base.leader is None else " (the pods of leaders and of workers, which differ, count each)"
        )
        return f"{used} bytes together{both}, and the limit is {LARGEST}"
    return over(base.pods, base.leader)


def over(*templates: Object | None) -> str:
    """Return the limit of `intent.budget` that pod templates exceed together; empty for none."""
    pods = dict(zip(("workerTemplate", "leaderTemplate"), templates, strict=False))
    counts = budget.counted({"spec": {"leaderWorkerTemplate": pods}})
    return next(
        (f"{n} {limit.name}, and the limit is {limit.most}" for limit, n in counts if n > limit.most), ""
    )
