"""Explain the fields that admission sets on an object: concern, rule and cause of each. Pure."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

import click
import orjson

from fusioninfer.lint.checked import library, seen_by
from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import is_lws, rendered
from fusioninfer.lint.paths import joined
from intent import Object
from intent.annotations import LAUNCHER, NONE, SERVICE
from intent.errors import printable
from intent.lws import LWT, Intent
from intent.settings import Settings
from intent.shapes import annotations, mapping
from intent.template import Templates
from intent.tree import COPY, LIST_KEYS, Overlay, identity, is_keyed, name_of
from webhook import mutate
from webhook.expand import wish
from webhook.mutate import rule_for
from webhook.mutate.concern import SIZE, Cause, Rule
from webhook.overlay.overlay import ENTERED, WHOLE, containers_of, group_of, template_of
from webhook.state import Fresh, state


class Field(NamedTuple):
    """A field that admission sets: its path, its value before (None: absent) and after (None: removed)."""

    path: str
    was: Any
    now: Any


class Explanation(NamedTuple):
    """The reason for one field of one document."""

    document: Document
    field: Field
    concern: str
    rule: Rule
    cause: str
    """The path of the input that caused the field."""
    value: Any
    """The value of that input."""
    choice: str
    """For fields that a launcher writes: its name, and why it was chosen."""


def explain(documents: Iterable[Document], settings: Settings) -> list[Explanation]:
    """Explain every field that admission sets on LeaderWorkerSets."""
    documents = list(documents)
    templates = library(document.object for document in documents)
    sets = (document for document in rendered(documents) if is_lws(document.object))
    return [one for lws in sets for one in _explained(lws, settings, seen_by(templates, lws.object))]


def _explained(document: Document, settings: Settings, templates: Templates) -> Iterator[Explanation]:
    found = state(document.object, None, templates)
    if not isinstance(found, Fresh):
        return
    write = found.write
    is_recorded = write.has_record and write.stands()
    expansion = write.record.expansion if is_recorded else wish(found, settings)
    overlays = write.record if is_recorded else write.inject(expansion)
    chosen = _chosen(expansion.decision.launcher, found.intent, settings)
    for field in fields(overlays.put_on, overlays.was):
        if row := rule_for(field.path):
            concern, rule = row
            cause, value = _cause(rule, field.path, write.original, found.intent)
            choice = chosen if concern.name == "launch" else ""
            yield Explanation(document, field, concern.name, rule, cause, value, choice)


def _chosen(written: str, intent: Intent, settings: Settings) -> str:
    """Return the launcher and the reason for it, or that it is recorded and would not be chosen now."""
    plan = mutate.input_of(intent, settings).plan
    if written and (written, True) != (plan.launcher, plan.rewritten):
        return f"{written}: recorded earlier; the current rules would choose another launcher"
    return f"{plan.launcher}: {plan.why}" if written else ""


# --- fields -----------------------------------------------------------------------------------------


def fields(applied: Overlay, was: Overlay | None, above: str = "") -> Iterator[Field]:
    """Yield the fields of an overlay, in its order; a value that is only valid as a unit is one field."""
    before = was or {}
    if COPY in applied:
        yield Field(above, None, f"a copy of {applied[COPY]}")
    for key, value in applied.items():
        path = joined(above, key)
        if key == COPY:
            continue
        if isinstance(value, dict) and (key not in WHOLE or isinstance(before.get(key), dict)):
            yield from fields(value, before.get(key), path)
        elif is_keyed(key, value):
            yield from _items(key, value, before.get(key), path)
        else:
            yield Field(path, before.get(key), value)


def _items(key: str, items: list[Any], was: list[Any] | None, path: str) -> Iterator[Field]:
    before = {identity(key, item): item for item in was or ()}
    for item in items:
        named = f"{path}[{name_of(key, item)}]"
        if key in ENTERED:
            rest = {name: value for name, value in item.items() if name not in LIST_KEYS[key]}
            yield from fields(rest, before.get(identity(key, item)), named)
        else:
            yield Field(named, None, item)


# --- output -----------------------------------------------------------------------------------------


def as_json(one: Explanation) -> Object:
    """Return an explanation as a JSON object; `choice` is there for fields that a launcher writes."""
    return {
        "file": one.document.file,
        "document": one.document.number,
        "field": one.field.path,
        "was": one.field.was,
        "now": one.field.now,
        "concern": one.concern,
        "rule": one.rule.code,
        "reason": one.rule.reason,
        "input": one.cause,
        "inputValue": one.value,
    } | ({"choice": one.choice} if one.choice else {})


def as_text(found: Iterable[Explanation]) -> str:
    """Render explanations as differences, each followed by its reason, with terminal colours."""
    parts = [
        "\n\n".join((click.style(where, bold=True), *map(_difference, _together(ones))))
        for where, ones in groupby(found, lambda one: str(one.document))
    ]
    return "\n\n".join(parts)


def _together(found: Iterable[Explanation]) -> Iterable[list[Explanation]]:
    """Return explanations that differ by their template alone, such as those of a label, as one."""
    same: dict[tuple[str, ...], list[Explanation]] = {}
    for one in found:
        key = (_TEMPLATE.sub("", one.field.path), _json(one.field.was), _json(one.field.now), one.cause)
        same.setdefault(key, []).append(one)
    return same.values()


_TEMPLATE: Final = re.compile(rf"^{re.escape(LWT)}\.(leader|worker)Template\.")


def _difference(alike: list[Explanation]) -> str:
    one = alike[0]
    was, now = one.field.was, one.field.now
    lines = [
        *(printable(each.field.path) for each in alike),
        *([click.style(f"- {_json(was)}", fg="red")] if was is not None else []),
        *([click.style(f"+ {_json(now)}", fg="green")] if now is not None else []),
        f"  {one.concern} ({one.rule.code}): {one.rule.reason}",
        f"  because of {printable(one.cause)}: {_json(one.value)}",
        *([f"  launcher {one.choice}"] if one.choice else []),
    ]
    return "\n".join(lines)


def _json(value: Any) -> str:
    return printable(value if isinstance(value, str) else orjson.dumps(value).decode())


# --- causes -----------------------------------------------------------------------------------------

_CAUSES_NOTHING: Final = ((SIZE, 1), (LAUNCHER, NONE))


def _cause(rule: Rule, path: str, original: Object, intent: Intent) -> tuple[str, Any]:
    """Return path and value of the first input of a rule that the author wrote; else those of the opt-in."""
    for cause in (*rule.causes, SERVICE):
        place, value = _written(cause, path, original, intent)
        if value is not None and (cause, value) not in _CAUSES_NOTHING:
            return place, value
    return "", None


def _written(cause: Cause, path: str, original: Object, intent: Intent) -> tuple[str, Any]:
    """Return path and value of a cause; a field of the engine is in the template of the explained field."""
    if "/" in cause:
        return f"metadata.annotations[{cause}]", annotations(original).get(cause)
    if cause == SIZE:
        return f"{LWT}.size", group_of(original).get("size")
    field = "leaderTemplate" if path.startswith(f"{LWT}.leaderTemplate") else "workerTemplate"
    template = next((one for one in intent.templates if one.field == field), intent.templates[-1])
    engine = template.engine.container if template.engine else ""
    value: Any = containers_of(template_of(original, template.field)).get(engine)
    for key in cause.split("."):
        value = mapping(value).get(key)
    return f"{template.path}.spec.containers[{engine}].{cause}", value
