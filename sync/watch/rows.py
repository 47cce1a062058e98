"""Rows by name, by the services that they concern, and by index keys.

Thousands of rows may have one index key, and an event of each of them asks for the services with that key. So
the services are counted as rows come and go: the answer takes as long as there are services, not rows.
"""

from collections import Counter
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
    shared: dict[Key, Counter[ServiceKey]] = field(default_factory=dict)
    """By index key that several rows have, the number of rows of each service."""

    def put(self, row: R) -> tuple[Key, ...]:
        """Add a row, or replace an equal one of its name; return the keys that it concerns."""
        name, keys = (row.namespace, row.name), row_keys(row)
        is_new = name not in self.by_name
        self.by_name[name] = row
        for key in keys:
            rows = self.by_key.setdefault(key, {})
            rows[name] = row
            if is_new and len(rows) > 1 and isinstance(key, IndexKey):
                counted = rows.values() if len(rows) == 2 else (row,)
                self.shared.setdefault(key, Counter()).update(map(_service, counted))
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
            if len(rows) < 2:
                self.shared.pop(key, None)
            elif row is not None and (counts := self.shared.get(key)):
                counts.subtract((_service(row),))
                if not counts[_service(row)]:
                    del counts[_service(row)]
        return keys

    def services_of(self, index_key: IndexKey) -> tuple[ServiceKey, ...]:
        """Return the services of the rows with an index key, each once."""
        counts = self.shared.get(index_key)
        services = map(_service, self.by_key.get(index_key, {}).values()) if counts is None else counts
        return tuple(service for service in services if service[1])


def _service(row: Row) -> ServiceKey:
    """Return the service that a row belongs to; its name is empty if it belongs to none."""
    return row.namespace, row.service
