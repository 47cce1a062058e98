"""The versions of InferenceTemplates whose content an object has, as its record has them.

Admission writes them (`webhook.overlay.base`, member `from`).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from intent import Object
from intent.budget import VALUES
from intent.names import is_label, is_subdomain
from intent.shapes import decoded, listed, mapping, number, strings, text
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
    is_read = isinstance(record, str) and '"base":' in record and len(record) <= VALUES.most
    return mapping(mapping(decoded(record)).get("base")) if is_read else {}


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
