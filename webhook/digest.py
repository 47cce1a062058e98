"""Digests of an Intent: of all its fields, and of those that one concern reads.

A record keeps them. While a digest is the same, the part of the record that was made from it is injected
again, whatever the rules say now. So a field that a concern reads must be in its `Reads`
(`tests/webhook/mutate/test_reads.py`).

Fields at their default are left out, so that a field that a later release adds changes no old digest. So are
fields with `digest=False` metadata, such as positions (`intent.lws`).
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import compress
from operator import attrgetter, ne
from typing import Any, Final

import orjson

from intent import Object
from intent.annotations import BLOCKS
from intent.launch import Decision
from intent.lws import Accelerators, Engine, Intent, Ports, Probe, Template
from intent.parallelism import Parallelism
from intent.sidecar import SidecarOptions

ALWAYS: Final = "refresh"
"""The annotation that every concern reads: another value expands the whole object again."""


COMMAND: Final = ("image", "command", "args", "variables")
"""The fields of an engine that say what it runs."""


@dataclass(frozen=True, slots=True)
class Reads:
    """The names of the fields that one concern reads, besides those that `facts` always includes."""

    intent: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    """Of each pod template. Which templates there are always counts."""
    engine: tuple[str, ...] = ()
    """Of the engine container of each pod template."""
    layout: tuple[str, ...] = ()
    """Of the `Decision` on which templates there will be, and how they are launched."""
    skip: tuple[str, ...] = ()
    """Words of the annotation `skip`."""
    values: tuple[tuple[str, Any], ...] = ()
    """Fields of the Intent that count only with this value, so that the digests of all others stay."""


FILLS: Final = Reads(
    (*BLOCKS, "size", "service", "model_name", "model_cache"), engine=(*COMMAND, "accelerators", "env")
)
"""The input of all blocks (`webhook.blocks`).

A concern that reads the command of an object with a block reads the filled one, and so all of this too.
"""


_BLOCKS: Final = frozenset(BLOCKS)


def reads_of(reads: Reads, known: Object) -> Reads:
    """Return what a concern reads of an object: with blocks also their input."""
    if _BLOCKS.isdisjoint(known) or set(reads.engine).isdisjoint(FILLS.engine):
        return reads
    fields = dict.fromkeys((*reads.intent, *FILLS.intent)), dict.fromkeys((*reads.engine, *FILLS.engine))
    return replace(reads, intent=tuple(fields[0]), engine=tuple(fields[1]))


_PATHS: Final = "paths"
"""The paths of all probes and hooks, which count only if the decision says so."""
APART: Final = ("memory_limits",)
"""Facts that only the digests of parts cover: so the digest of all is that of releases without them."""
_FIRST: Final = ("launcher", "splits", "port")
"""The fields of a `Decision` that all records have. Others change no digest while at their default."""
_UNSAID: Final = Decision()


def digest(known: Object) -> str:
    """Return the digest of all facts but those of `APART`: 128 bits, in hex."""
    return _hashed({name: value for name, value in known.items() if name not in (_PATHS, *APART)}, 32)


def digest_of(reads: Reads, known: Object, decision: Decision | None = None) -> str:
    """Return the digest of the facts that one concern reads: 64 bits, in hex."""
    if not _BLOCKS.isdisjoint(known):  # most objects have no block
        reads = reads_of(reads, known)
    read = {name: known[name] for name in (ALWAYS, *reads.intent) if name in known}
    read["templates"] = [_of_template(reads, template) for template in known.get("templates", ())]
    if decision is not None:
        read["layout"] = [getattr(decision, name) for name in reads.layout if name in _FIRST]
        later = {name: getattr(decision, name) for name in reads.layout if name not in _FIRST}
        read |= {name: value for name, value in later.items() if value != getattr(_UNSAID, name)}
        if decision.paths and "probes" in reads.engine:
            read[_PATHS] = known.get(_PATHS)
    if reads.values:
        read |= {name: value for name, value in reads.values if known.get(name) == value}
    skipped = known.get("skip", ())
    read["skip"] = [word for word in reads.skip if word in skipped] if skipped else []
    return _hashed(read, 16)


def _of_template(reads: Reads, template: Object) -> Object:
    read = {"field": template["field"]}
    for name in reads.template:
        if name in template:
            read[name] = template[name]
    engine = template.get("engine")
    if engine is not None and reads.engine:
        read["engine"] = {name: engine[name] for name in reads.engine if name in engine}
    return read


def _hashed(value: Any, length: int) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:length]


def _counted(kind: type) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[str, ...], tuple[Any, ...]]:
    """Return what reads the fields of a dataclass that digests cover, their names, and their defaults."""
    counted = [item for item in fields(kind) if item.metadata.get("digest", True)]
    names = tuple(item.name for item in counted)
    return attrgetter(*names), names, tuple(item.default for item in counted)


_COUNTED: Final = {
    kind: _counted(kind)
    for kind in (Intent, Template, Engine, Accelerators, Probe, Ports, Parallelism, SidecarOptions)
}


def facts(value: Any) -> Object:
    """Return the fields of an Intent that digests cover, as far as they are not at their default."""
    read, names, defaults = _COUNTED[type(value)]
    items = read(value)
    found = dict(compress(zip(names, items, strict=True), map(ne, items, defaults)))
    for name, item in found.items():
        if type(item) in _COUNTED:
            found[name] = facts(item)
        elif type(item) is tuple and type(item[0]) in _COUNTED:
            found[name] = [facts(one) for one in item]
    if type(value) is Intent:
        found[_PATHS] = [
            one.path
            for each in value.templates
            if each.engine
            for one in (*each.engine.probes, *each.engine.hooks)
        ]
    return found
