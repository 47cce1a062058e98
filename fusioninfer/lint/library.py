"""The InferenceTemplates of files, as an object of a namespace sees them."""

from collections.abc import Iterable, Mapping
from typing import Final

from intent import Object
from intent.names import SYSTEM_NAMESPACE
from intent.resource import kind_of
from intent.shapes import metadata, text
from intent.template import KIND, Templates

Library = Mapping[str, Mapping[str, Object]]
"""The templates by namespace, and by name; those of objects that name no namespace under the empty name."""


NONE: Final[Library] = {}


def library(objects: Iterable[Object]) -> Library:
    """Collect the templates among objects; the first of a name counts."""
    found: dict[str, dict[str, Object]] = {}
    for one in objects:
        kind, of = kind_of(one), metadata(one)
        if kind is None or kind.name != KIND:
            continue
        found.setdefault(text(of.get("namespace")), {}).setdefault(text(of.get("name")), one)
    return found


def seen_by(templates: Library, lws: Object) -> Templates:
    """Return the templates that an object may name: those of its namespace, then FusionInfer's.

    A file that names no namespace is applied to the same one as the others.
    """
    namespace = text(metadata(lws).get("namespace"))
    near: dict[str, Object] = {}
    for name in (SYSTEM_NAMESPACE, "", namespace) if namespace else (SYSTEM_NAMESPACE, *templates):
        near |= templates.get(name, {})
    return near
