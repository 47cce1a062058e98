"""The templates of an object: which ones a write needs, and their content as one `Base`.

    needed    the names of the templates that must be read for a write; for nearly all writes none
    content   the templates merged, in the order of `base-refs` and of their entries; later ones win

A template is read when an object is created, when its `base-refs`, its component type or `refresh` changes,
and never while the stored record has the content for them. So an edited or deleted template changes nothing
(P1). The content in a record that a write brings counts only if the object has all of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from intent import Object
from intent.annotations import (
    BASE_REFS,
    COMPONENT_TYPE,
    COMPONENT_TYPES,
    INJECT,
    KEYS,
    LORA,
    MODEL,
    MODEL_CACHE,
    MODEL_NAME,
    MODEL_SECRET,
    PARALLELISM,
    PRIORITY,
    REFRESH,
    SERVICE,
    TEMPLATES_VERSION,
)
from intent.applied import base_of
from intent.command_line.merge import DEFAULT_MODE, MODES
from intent.lora import LIMITS
from intent.lora import written as written_lora
from intent.merge import BadPathError, are_items, merged, removed
from intent.parallelism import EXPERT, NAMES
from intent.priority import as_text
from intent.shapes import annotations, listed, mapping, metadata, number, text
from intent.template import APPLY_IT, MALFORMED, TOO_LARGE, Templates, Unavailable
from webhook.overlay import record as records
from webhook.overlay.base import MISSING, Base, ContentKey, excess, over, read_base

OFF: Final = Unavailable("cannot be read, since templates are switched off (templates.enabled of the chart)")
_PARTS: Final = {"all": ("leader", "worker"), "leader": ("leader",), "worker": ("worker",)}
_VALUES: Final = {"for": ("common", *COMPONENT_TYPES), "part": _PARTS, "args": MODES}
"""The values that this release knows of fields of an entry; the CRD of a later one may have more."""


def key_of(lws: Object | None) -> ContentKey | None:
    """Return what decides which templates an object gets; None if it names none, or names them wrongly."""
    own = annotations(lws)
    names = own.get(BASE_REFS)
    if names is None or not isinstance(own.get(SERVICE), str):
        return None
    row = KEYS[BASE_REFS.partition("/")[2]]
    if next(row.violations(names), None):
        return None
    asked = own.get(COMPONENT_TYPE)
    component_type = asked if asked in COMPONENT_TYPES else COMPONENT_TYPES[0]
    asked_for = (text(own.get(key)) for key in (REFRESH, TEMPLATES_VERSION))
    return ContentKey(row.parse(names), component_type, " ".join(filter(None, asked_for)))


def needed(live: Object, old: Object | None = None) -> tuple[str, ...]:
    """Return the names of the templates to read for a write. Specs may be raw JSON."""
    key = key_of(live)
    if key is None:
        return ()
    of_stored = None if bypassed(old) else old
    bases = (read_base(base_of(records.find(lws))) for lws in (live, of_stored))
    mine, stored = (base if base and base.key == key else None for base in bases)
    if stored and stored.has_content:
        return ()
    is_same = not (mine or stored) and key_of(old) == key and live.get("spec") == (old or {}).get("spec")
    return () if is_same else key.refs


def bypassed(lws: Object | None) -> bool:
    """Return whether an object was stored without admission: its record may say anything, as on a CREATE."""
    return annotations(lws).get(INJECT) == "disabled"


# --- the content -------------------------------------------------------------------------------------


def content(key: ContentKey, templates: Templates | None) -> Base:
    """Merge the templates that a key names. With a fault in one of them, there is no content."""
    read = {name: OFF if templates is None else templates.get(name, _ABSENT) for name in key.refs}
    work = _Merge(key.component_type)
    faults = [fault for name, obj in read.items() for fault in _merge(name, obj, work)]
    leader, worker = work.parts["leader"], work.parts["worker"]
    known = ((name, metadata(obj)) for name, obj in read.items() if not isinstance(obj, Unavailable))
    base = Base(
        *key,
        sources=tuple(
            (name, text(of.get("namespace")), text(of.get("uid")), number(of.get("generation")))
            for name, of in known
        ),
        pods=worker.pods,
        leader=None if leader == worker else leader.pods,
        annotations=work.annotations,
        modes=worker.modes,
        leader_modes=None if leader.modes == worker.modes else leader.modes,
    )
    if not faults and (too_much := excess(base)):
        faults = [(TOO_LARGE, f"have {too_much}: name fewer, or make them smaller")]
    return Base(*key, faults=tuple(faults)) if faults else base


_ABSENT: Final = Unavailable(f"does not exist: {APPLY_IT}")


@dataclass(slots=True)
class _Part:
    """The pods of a group that are alike: their template, and by container how its arguments merge."""

    pods: Object = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)

    def merge(self, below: Object, template: Object, mode: str) -> None:
        """Merge a template over what is left of the earlier ones."""
        self.pods = merged(below, template, partial(arguments, self.modes))
        for container in _with_args(template):
            self.modes.pop(container, None)
            if mode != DEFAULT_MODE:
                self.modes[container] = mode


@dataclass(slots=True)
class _Merge:
    """The templates merged so far."""

    component_type: str
    parts: dict[str, _Part] = field(default_factory=lambda: {"leader": _Part(), "worker": _Part()})
    annotations: dict[str, str] = field(default_factory=dict)


def arguments(modes: Mapping[str, str], base: Object, over: Object) -> list[str]:
    """Merge the arguments of two containers; `modes` are those of the first, by its name."""
    if not (_is_plain(base) and _is_plain(over)):
        words: list[str] = over["args"]
        return words
    return MODES[modes.get(text(base.get("name")), DEFAULT_MODE)](base, over)


def _is_plain(container: Object) -> bool:
    """Return whether image, command and args of a container are texts."""
    words = (container.get(field) for field in ("command", "args"))
    are_texts = all(
        value is None or (isinstance(value, list) and all(isinstance(word, str) for word in value))
        for value in words
    )
    return are_texts and isinstance(container.get("image", ""), str)


def _merge(name: str, template: Object | Unavailable, work: _Merge) -> Iterator[tuple[str, str]]:
    """Merge one template over the ones before; yield why it cannot be."""
    if isinstance(template, Unavailable):
        yield MISSING, f"InferenceTemplate {name} {template.reason}"
        return
    spec = mapping(template.get("spec"))
    entries = [mapping(item) for item in listed(spec.get("pods"))]
    if too_much := next(filter(None, (over(mapping(item.get("template"))) for item in entries)), ""):
        yield TOO_LARGE, f"InferenceTemplate {name} has {too_much}: make it smaller"
        return
    for position, entry in enumerate(entries):
        fault = _entry(entry, work)
        if fault:
            yield MALFORMED, f"InferenceTemplate {name}: spec.pods[{position}].{fault}"
    blocks = dict(_annotations(spec))
    if MODEL in blocks:
        work.annotations.pop(MODEL_NAME, None)  # a name belongs to its model
    work.annotations |= blocks


def _entry(entry: Object, work: _Merge) -> str:
    """Merge one entry of `spec.pods`; return its fault, empty for none."""
    for name, known in _VALUES.items():
        if entry.get(name) not in (None, *known):
            return f"{name} must be one of {', '.join(known)}"
    target, part, mode = (entry.get(field) for field in _VALUES)
    if target not in (None, "common", work.component_type):
        return ""
    template = mapping(entry.get("template"))
    for side in (work.parts[name] for name in _PARTS[part or "all"]):
        try:
            below = removed(side.pods, [text(path) for path in listed(entry.get("remove"))])
        except BadPathError as error:
            return f"remove: {error} must be a path such as containers/vllm/env/DEBUG"
        side.merge(below, template, mode or DEFAULT_MODE)
    return ""


def _with_args(template: Object) -> Iterator[str]:
    spec = mapping(template.get("spec"))
    for name in ("containers", "initContainers"):
        items = listed(spec.get(name))
        if are_items(name, items):
            yield from (text(item["name"]) for item in items if item.get("args") is not None)


# --- blocks ------------------------------------------------------------------------------------------


def _annotations(spec: Object) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a template as the annotations that an author would write."""
    model = mapping(spec.get("model"))
    fields = (MODEL, "uri"), (MODEL_NAME, "name"), (MODEL_SECRET, "secretName"), (MODEL_CACHE, "cache")
    blocks: list[tuple[str, Any]] = [(key, model.get(field)) for key, field in fields]
    blocks.append((PARALLELISM, ",".join(_sizes(mapping(spec.get("parallelism"))))))
    lora = mapping(spec.get("lora"))
    adapters = [
        (text(adapter.get("name")), text(adapter.get("uri")))
        for adapter in map(mapping, listed(lora.get("adapters")))
    ]
    limits = {name: number(lora.get(name)) for name in LIMITS}
    blocks.append((LORA, written_lora(adapters, limits) if adapters else ""))
    blocks.append((PRIORITY, as_text(spec.get("priority"))))
    yield from ((key, value) for key, value in blocks if isinstance(value, str) and value)


def _sizes(sizes: Object) -> Iterator[str]:
    for name in NAMES:
        value = sizes.get(name)
        if name == EXPERT and value is True:
            yield name
        elif type(value) is int and value:
            yield f"{name}={value}"
