"""What is known of the objects of one kind: rows by name, and by the services that they concern.

Rules of this file:
1. An object that cannot be projected costs itself only: it is kept as `Unreadable`, and others go on.
2. An object that is not here need not be absent from the cluster: `trouble` says why the kind is not known,
   and `unreadable_of` gives the objects of a service of which nothing but the name is known.
3. Comparing two rows must not take long, whatever an author wrote: rows hold flat values and digests.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from intent import Object
from intent.service.member import ServiceKey
from sync.kinds import Kind
from sync.observed.cached import Unreadable, unreadable, version

log: Final = logging.getLogger(__name__)
Name = tuple[str, str]
"""Namespace and name of an object."""
ENOUGH: Final = 3
"""So many lists in a row must fail before a kind counts as unavailable, or as absent."""
NOT_LISTED: Final = "it has not been listed yet"


def _nobody(_key: ServiceKey) -> None:
    """Wake nobody: this process does not work."""


def _nothing() -> None:
    """Do nothing: this process does not work."""


@dataclass(slots=True)
class Rows:
    """Rows by name and by key. A row may give a key more than once."""

    keys: Callable[[Any], Iterable[ServiceKey]]
    by_name: dict[Name, Any] = field(default_factory=dict)
    by_key: dict[ServiceKey, dict[Name, Any]] = field(default_factory=dict)

    def of(self, key: ServiceKey) -> tuple[Any, ...]:
        """Give the rows that concern a key."""
        return tuple(self.by_key.get(key, {}).values())

    def put(self, row: Any) -> tuple[ServiceKey, ...]:
        """Add a row, or replace the one of its name by an equal one; gives the keys that it concerns."""
        name, keys = (row.namespace, row.name), tuple(dict.fromkeys(self.keys(row)))
        self.by_name[name] = row
        for key in keys:
            self.by_key.setdefault(key, {})[name] = row
        return keys

    def drop(self, name: Name) -> tuple[ServiceKey, ...]:
        """Remove a row; gives the keys that it concerned."""
        row = self.by_name.pop(name, None)
        keys = tuple(dict.fromkeys(self.keys(row))) if row is not None else ()
        for key in keys:
            named = self.by_key.get(key, {})
            named.pop(name, None)
            if not named:
                self.by_key.pop(key, None)
        return keys


@dataclass(slots=True)
class Cache:
    """Rows of one kind. `changed` is called with every key that a change concerns."""

    kind: Kind
    changed: Callable[[ServiceKey], None] = _nobody
    restated: Callable[[ServiceKey], None] = _nobody
    """Called instead where nothing but a status changed that we write: see `Loop.restated`."""
    recovered: Callable[[], None] = _nothing
    """Called when a kind is known that was not."""
    known: Rows = field(init=False)
    unreadable: Rows = field(init=False)
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the objects are known, or that there is no such kind."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the objects are known, or the kind is unavailable: waiting longer does not help."""
    trouble: str = NOT_LISTED
    """Why it is not known which objects there are; empty if it is. Rows that were known before stay."""
    absent: bool = False
    """Whether the API server has no such kind."""
    failures: int = 0
    """How many lists in a row failed."""
    denials: int = 0
    """How many of them because the API server denies that there is such a kind."""

    def __post_init__(self) -> None:
        self.known, self.unreadable = Rows(self.kind.keys), Rows(_of_unreadable)

    @property
    def rows(self) -> dict[Name, Any]:
        """Rows of the objects that can be read, by name."""
        return self.known.by_name

    @property
    def keys(self) -> tuple[ServiceKey, ...]:
        """Every key that an object concerns."""
        return (*self.known.by_key, *self.unreadable.by_key)

    # --- what is known ------------------------------------------------------------------------------

    def of(self, key: ServiceKey) -> tuple[Any, ...]:
        """Give the rows that concern a key."""
        return self.known.of(key)

    def unreadable_of(self, key: ServiceKey) -> tuple[Unreadable, ...]:
        """Give the objects that may concern a key, and cannot be read."""
        return self.unreadable.of(key)

    # --- one object ---------------------------------------------------------------------------------

    def project(self, obj: Object) -> Any:
        """Project an object; `Unreadable` if that raises, None if it does not concern us."""
        try:
            return self.kind.project(obj)
        except Exception as error:  # noqa: BLE001 - whatever an object holds, it must not cost another one
            return unreadable(obj, error)

    def take(self, obj: Object) -> None:
        """Know an object as a watch tells of it."""
        metadata = obj["metadata"]
        name = (metadata.get("namespace", ""), metadata["name"])
        known = self.rows.get(name)
        if known and known.version and (known.version, known.uid) == (version(metadata), metadata.get("uid")):
            return
        row = self.project(obj)
        if row is None:
            self.drop(name)
        else:
            self.put(row)

    def put(self, row: Any) -> None:
        """Know a row, unless a newer one is known: a watch tells of our own writes after their answers."""
        name = (row.namespace, row.name)
        known = self.rows.get(name) or self.unreadable.by_name.get(name)
        if known is None or row.version >= known.version:
            self._keep(row)

    def drop(self, name: Name) -> None:
        """Forget a row."""
        for key in (*self.known.drop(name), *self.unreadable.drop(name)):
            self.changed(key)

    # --- all of them --------------------------------------------------------------------------------

    def replace(self, rows: Iterable[Any]) -> None:
        """Know exactly these rows: what a list gave."""
        self._replace(rows)
        self.absent, self.failures, self.denials = False, 0, 0
        self._be_known()

    def fail(self, why: str, *, denied: bool) -> None:
        """Note that a list failed; `denied`: the API server says by its discovery that there is no such kind.

        One answer proves nothing: API servers say 404 while they start, and proxies do at any time.
        """
        self.failures, self.denials = self.failures + 1, self.denials + 1 if denied else 0
        if self.denials >= ENOUGH:
            self._be_absent()
        elif self.failures >= ENOUGH:
            if self.trouble in {"", NOT_LISTED}:
                log.error("kind unavailable", extra={"kind": self.kind.plural, "error": why})
                self.trouble = why
            self.absent = False
            self.settled.set()

    def _be_absent(self) -> None:
        """Know that there are no objects, since there is no such kind; it may come."""
        if not self.absent:
            log.info("no such kind", extra={"kind": self.kind.plural})
            self._replace(())
        self.absent = True
        self._be_known()

    def _be_known(self) -> None:
        """Know which objects there are; what waited for that is looked at again."""
        had_trouble, self.trouble = bool(self.trouble), ""
        self.synced.set()
        self.settled.set()
        if had_trouble:
            self.recovered()

    def _replace(self, rows: Iterable[Any]) -> None:
        fresh = {(row.namespace, row.name): row for row in rows}
        for name in [*self.rows.keys() - fresh.keys(), *self.unreadable.by_name.keys() - fresh.keys()]:
            self.drop(name)
        for row in fresh.values():
            self._keep(row)

    def _keep(self, row: Any) -> None:
        """Know a row; one that is equal to what is known wakes nobody."""
        name = (row.namespace, row.name)
        home, other = self.known, self.unreadable
        if isinstance(row, Unreadable):
            home, other = other, home
        known = home.by_name.get(name)
        if name not in other.by_name and known == row:
            is_restated = getattr(known, "reported", b"") != getattr(row, "reported", b"")
            for key in home.put(row):
                if is_restated:
                    self.restated(key)
            return
        self.drop(name)
        if isinstance(row, Unreadable):
            extra = {"kind": self.kind.plural, "object": name, "error": row.why}
            log.warning("object cannot be read", extra=extra)
        for key in home.put(row):
            self.changed(key)


def _of_unreadable(row: Unreadable) -> tuple[ServiceKey, ...]:
    """Give the services that it may belong to: that of its label, and that of its name."""
    named = (row.namespace, row.name)
    return ((row.namespace, row.service), named) if row.service else (named,)
