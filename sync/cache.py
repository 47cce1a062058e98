"""What is known of the objects of one kind: rows by name, and by the services that they concern."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from intent.service.member import ServiceKey
from sync.kinds import Kind

Name = tuple[str, str]
"""Namespace and name of an object."""


def _nobody(_key: ServiceKey) -> None:
    """Wake nobody: this process does not work."""


@dataclass(slots=True)
class Cache:
    """Rows of one kind. `changed` is called with every key that a change concerns."""

    kind: Kind
    changed: Callable[[ServiceKey], None] = _nobody
    restated: Callable[[ServiceKey], None] = _nobody
    """Called instead where nothing but a status changed that we write: see `Loop.restated`."""
    rows: dict[Name, Any] = field(default_factory=dict)
    index: dict[ServiceKey, dict[Name, Any]] = field(default_factory=lambda: defaultdict(dict))
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    absent: bool = False
    """Whether the API server has no such kind."""

    def of(self, key: ServiceKey) -> tuple[Any, ...]:
        """Give the rows that concern a key."""
        return tuple(self.index.get(key, {}).values())

    def put(self, row: Any) -> None:
        """Know a row, unless a newer one is known: a watch tells of our own writes after their answers."""
        known = self.rows.get((row.namespace, row.name))
        if known is None or row.version >= known.version:
            self._keep(row)

    def drop(self, name: Name) -> None:
        """Forget a row."""
        row = self.rows.pop(name, None)
        for key in self.kind.keys(row) if row is not None else ():
            del self.index[key][name]
            if not self.index[key]:
                del self.index[key]
            self.changed(key)

    def replace(self, rows: Iterable[Any]) -> None:
        """Know exactly these rows: what a list gave."""
        fresh = {(row.namespace, row.name): row for row in rows}
        for name in self.rows.keys() - fresh.keys():
            self.drop(name)
        for row in fresh.values():
            self._keep(row)
        self.synced.set()

    def _keep(self, row: Any) -> None:
        """Know a row; one that is equal to what is known wakes nobody."""
        name = (row.namespace, row.name)
        known = self.rows.get(name)
        is_news = known != row
        if is_news:
            self.drop(name)
        self.rows[name] = row
        for key in self.kind.keys(row):
            self.index[key][name] = row
            if is_news:
                self.changed(key)
            elif getattr(known, "status", None) != getattr(row, "status", None):
                self.restated(key)
