"""The versions of InferenceTemplates whose content an object has, as its record has them.

Admission writes them (`webhook.overlay.base`, member `from`).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from intent import Object
from intent.names import is_label, is_subdomain
from intent.shapes import listed, mapping, number, strings, text
from intent.template import TEMPLATES_LIMIT


class TemplateVersion(NamedTuple):
    """One version of a template, as a record names it."""

    name: str
    namespace: str
    uid: str
    generation: int


def recorded(record: Any) -> tuple[TemplateVersion, ...]:
    """Return the templates whose content an expanded object has, from the text of its record."""
    return tuple(_sources(listed(base_of(record).get("from"))[:TEMPLATES_LIMIT]))


def base_of(record: Any) -> Object:
    """Return what a record says of templates, from its text; empty if it says nothing."""
    if not isinstance(record, str) or '"base":' not in record:
        return {}
    try:
        return mapping(mapping(orjson.loads(record)).get("base"))
    except orjson.JSONDecodeError:
        return {}


def _sources(entries: list[Any]) -> Iterator[TemplateVersion]:
    """Yield what could be templates: a record may hold anything, and its readers ask for these names."""
    for entry in entries:
        if (
            isinstance(entry, list)
            and len(entry) == len(TemplateVersion._fields)
            and strings(entry[:3]) == tuple(entry[:3])
        ):
            name, namespace, uid = map(text, entry[:3])
            if is_subdomain(name) and is_label(namespace):
                yield TemplateVersion(name, namespace, uid, number(entry[3]))
