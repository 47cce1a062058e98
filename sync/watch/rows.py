"""Rows by name, by the services that they concern, and by index keys."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from intent.service.member import ServiceKey
from sync.observed.cached import Row, row_keys
from sync.observed.index_keys import IndexKey, Key

R = TypeVar("R", bound=Row)
NamespacedName = tuple[str, str]
"""Namespace and name of an object."""


@dataclass(slots=True)
class Rows(Generic[R]):
    """Rows by name and by key."""

    by_name: dict[NamespacedName, R] = field(default_factory=dict)
    by_key: dict[Key, dict[NamespacedName, R]] = field(default_factory=dict)

    def put(self, row: R) -> tuple[Key, ...]:
        """Add a row, or replace an equal one of its name; return the keys that it concerns."""
        name, keys = (row.namespace, row.name), row_keys(row)
        self.by_name[name] = row
        for key in keys:
            self.by_key.setdefault(key, {})[name] = row
        return keys

    def drop(self, name: NamespacedName) -> tuple[Key, ...]:
        """Remove a row; return the keys that it concerned."""
        row = self.by_name.pop(name, None)
        keys = row_keys(row) if row is not None else ()
        for key in keys:
            rows = self.by_key.get(key, {})
            rows.pop(name, None)
            if not rows:
                self.by_key.pop(key, None)
        return keys

    def services_of(self, index_key: IndexKey) -> tuple[ServiceKey, ...]:
        """Return the services of the rows with an index key, each once."""
        rows = self.by_key.get(index_key, {}).values()
        return tuple({(row.namespace, row.service): None for row in rows if row.service})
