"""Projection of an InferenceTemplate: its version, and the fields of its spec that the controller uses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from intent import Object
from intent.applied import TemplateVersion
from intent.inferencetemplate.v1alpha1 import KIND
from intent.shapes import mapping
from sync.observed.cached import Row, canonical, identity
from sync.observed.condition import generation
from sync.observed.index_keys import IndexKey, own_key

OFF: Final = "templates are switched off (templates.enabled of the chart)"
_USED: Final = ("router", "priority")
"""The fields of the spec that the controller uses; admission uses the others."""


@dataclass(frozen=True, slots=True)
class CachedTemplate(Row):
    """One template."""

    generation: int = 0
    packed: bytes = b""
    """The JSON of the fields of the spec that the controller uses; empty if there are none."""
    index_keys: tuple[IndexKey, ...] = ()

    @property
    def spec(self) -> Object:
        """The fields of the spec that the controller uses."""
        return mapping(orjson.loads(self.packed)) if self.packed else {}


def cached_template(obj: Object, shared: str) -> CachedTemplate:
    """Project a template; those of the namespace `shared` concern the services of all namespaces."""
    (own,) = own_key(KIND, obj)
    keys = (own, own._replace(namespace="")) if own.namespace == shared else (own,)
    spec = mapping(obj.get("spec"))
    used = {name: spec[name] for name in _USED if name in spec}
    packed = canonical(used) if used else b""
    return CachedTemplate(**identity(obj), generation=generation(obj), packed=packed, index_keys=keys)


def keys_of(namespace: str, names: Iterable[str]) -> tuple[IndexKey, ...]:
    """Return the index keys of a service that names templates."""
    return tuple(IndexKey(KIND, where, name) for name in names for where in (namespace, ""))


# --- the templates of one service ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedTemplates:
    """The templates that a service names, as far as they are known."""

    names: tuple[str, ...] = ()
    found: Mapping[str, CachedTemplate] = field(default_factory=dict)
    trouble: str = ""
    """Why they are not known; empty if they are."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of those that do not exist, or are not known."""
        return tuple(name for name in self.names if name not in self.found)

    def source(self, name: str) -> TemplateVersion | None:
        """Return the version of a template as it is now; None if there is none."""
        row = self.found.get(name)
        return TemplateVersion(name, row.namespace, row.uid, row.generation) if row else None


NONE_NAMED: Final = NamedTemplates()
