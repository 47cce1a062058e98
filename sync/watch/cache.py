"""The cache of one kind: rows by name, and by the services that they concern.

Rules of this file:
1. An object that cannot be projected affects itself only: it is kept as `UnreadableObject`.
2. An object that is missing here may exist in the cluster: `availability` says why the kind is not known in
   a namespace, and `unreadable_of` returns the objects of a service of which only the metadata is known.
3. Comparing two rows is cheap, whatever an author wrote: rows hold flat values and digests.
"""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec
import structlog

from intent import Object
from intent.commands import named
from intent.service.member import ServiceKey
from intent.shapes import listed, mapping
from kube.pool import BytePool
from kube.wire import read_at_any_depth, read_head, read_object
from sync.clock import Pace
from sync.kinds import Kind
from sync.observed.cached import (
    ObjectTooLargeError,
    Row,
    UnreadableObject,
    row_keys,
    unreadable,
    weight,
    without_content,
)
from sync.observed.index_keys import IndexKey, Key, concerns
from sync.watch.availability import ENOUGH, EVERYWHERE, Availability, Scope

log: Final = structlog.stdlib.get_logger(__name__)
R = TypeVar("R", bound=Row)
S = TypeVar("S", bound=Row)
NamespacedName = tuple[str, str]
"""Namespace and name of an object."""
OWNERS: Final = 1024
"""The most owner references of an object that are read; a PodGroup has up to 128 of ours."""
ROW_LIMIT: Final = 2**21
"""The most memory that one row may take (`cached.weight`)."""
ROWS: Final = 2**29
"""The memory for the rows of all kinds: half of the limit of the manifests."""
DELETIONS: Final = 1024
"""The most deletions that are remembered; the answer to a write comes within seconds."""
TOO_LARGE: Final = f"the controller would keep more than {ROW_LIMIT >> 20} MiB of it; make it smaller"
NO_ROOM: Final = (
    "the objects of its namespace take too much of the controller's memory; delete some, make them smaller, "
    "or raise the memory limit of the controller"
)


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


@dataclass(slots=True)
class Cache(Generic[R]):
    """Rows of one kind."""

    kind: Kind[R]
    changed: Callable[[Key], None] = lambda _key: None
    """Called with every key that a change concerns; nothing is, until this process is the leader."""
    known: Rows[R] = field(default_factory=Rows)
    rows: dict[NamespacedName, R] = field(init=False)
    """Rows of the readable objects, by name."""
    unreadable: Rows[UnreadableObject] = field(default_factory=Rows)
    availability: Availability = field(default_factory=Availability)
    """Whether the objects of the kind are known."""
    space: BytePool = field(default_factory=lambda: BytePool(ROWS))
    """The memory for the rows of all kinds."""
    sizes: dict[NamespacedName, int] = field(default_factory=dict)
    """The memory of each row (`cached.weight`)."""
    deleted: dict[NamespacedName, int] = field(default_factory=dict)
    """The versions of the latest deletions (`DELETIONS`), by name."""

    def __post_init__(self) -> None:
        """Share the rows by name."""
        self.rows = self.known.by_name

    @property
    def newest(self) -> int:
        """The newest version of a row or of a deletion."""
        return max((*(row.resource_version for row in self.rows.values()), *self.deleted.values()), default=0)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every key that an object concerns."""
        return (*self.known.by_key, *self.unreadable.by_key)

    # --- lookups -----------------------------------------------------------------------------------

    def of(self, key: Key) -> tuple[R, ...]:
        """Return the rows that concern a key."""
        return tuple(self.known.by_key.get(key, {}).values())

    def count(self, key: Key) -> int:
        """Return the number of objects that concern a key, or may concern it."""
        return len(self.known.by_key.get(key, ())) + len(self.unreadable.by_key.get(key, ()))

    def unreadable_of(self, key: ServiceKey) -> tuple[UnreadableObject, ...]:
        """Return the unreadable objects that may concern a key."""
        return tuple(self.unreadable.by_key.get(key, {}).values())

    def gap(self, key: ServiceKey) -> str:
        """Return why not all objects are known that concern a key; empty if they are."""
        kind, unread = self.kind.resource.kind, self.unreadable.by_key.get(key)
        if unread:
            row = next(iter(unread.values()))
            return f"{kind} {row.name} cannot be read: {row.why}"
        trouble = self.availability.trouble_in(key[0])
        return f"{kind} is unavailable: {trouble}" if trouble else ""

    # --- one object ---------------------------------------------------------------------------------

    async def read(self, body: bytes) -> R | UnreadableObject | None:
        """Project an object from its JSON; None if it is not relevant.

        One that is too long, or cannot be parsed, has a row of its metadata. Raises ValueError without these.
        """
        try:
            if len(body) <= self.kind.most:
                return self.project(await read_at_any_depth(read_object, body))
            limit = f"the limit is {self.kind.most:.0f}; make it smaller"
            why: Exception = ObjectTooLargeError(f"it has {len(body)} bytes as JSON, and {limit}")
        except ValueError as error:
            why = error
        return unreadable(msgspec.to_builtins(await read_at_any_depth(read_head, body)), why)

    def project(self, obj: Object) -> R | UnreadableObject | None:
        """Project an object: `UnreadableObject` if that raises, None if it is not relevant."""
        try:
            _limit_owners(obj)
            return self.kind.project(obj)
        except Exception as error:  # noqa: BLE001 - whatever one object contains, it must not affect others
            return unreadable(obj, error)

    def put(self, row: R | UnreadableObject) -> None:
        """Store a row unless a newer one is stored, or the object was deleted since.

        The events of our own write, and of a deletion after it, may come before its answer or after it.
        """
        name = (row.namespace, row.name)
        known = self.rows.get(name) or self.unreadable.by_name.get(name)
        if row.resource_version < self.deleted.get(name, 0):
            self._announce(row_keys(row))
        elif known is None or row.resource_version >= known.resource_version:
            self.store(row)

    def lose(self, name: NamespacedName, version: int) -> None:
        """Remove the object of a DELETED event, unless a newer one is stored.

        The event may come late: after the answer to our own write, which created or labelled it again.
        """
        known = self.rows.get(name) or self.unreadable.by_name.get(name)
        if known is None or version >= known.resource_version:
            self.drop(name)
            self.deleted[name] = version
            if len(self.deleted) > DELETIONS:
                del self.deleted[next(iter(self.deleted))]

    def drop(self, name: NamespacedName) -> None:
        """Remove a row."""
        self._resize(name, 0)
        self._announce((*self.known.drop(name), *self.unreadable.drop(name)))

    def has_room_again(self) -> bool:
        """Return whether there is room for a row that was left without its content, so that a list helps."""
        left_out = (row for row in self.unreadable.by_name.values() if row.why == NO_ROOM)
        return any(self.space.fits(row.namespace, ROW_LIMIT) for row in left_out)

    def _resize(self, name: NamespacedName, size: int) -> None:
        self.space.take(name[0], size - self.sizes.pop(name, 0))
        if size:
            self.sizes[name] = size

    def _announce(self, keys: Iterable[Key]) -> None:
        """Call `changed` with the keys that a change of an object of this kind concerns."""
        for key in keys:
            if concerns(self.kind.kind, key):
                self.changed(key)

    # --- all objects --------------------------------------------------------------------------------

    async def keep_only(self, names: AbstractSet[NamespacedName], namespace: str = EVERYWHERE) -> None:
        """Remove the objects of a scope that a list, whose rows were stored, does not have."""
        await self._remove_others(names, namespace)
        self.availability.listed(namespace)

    async def fail(self, why: str, *, denied: bool, namespace: str = EVERYWHERE) -> None:
        """Record a failed list; `denied`: the API server's discovery lacks the kind (`Availability.fail`)."""
        plural, known = self.kind.resource.plural, self.availability
        if known.fail(namespace, why, denied=denied):
            log.error("kind unavailable", kind=plural, namespace=namespace)
        if known.scopes[namespace].denials >= ENOUGH:
            if not known.scopes[namespace].absent:
                log.info("kind not served", kind=plural)
                await self._remove_others(frozenset(), namespace)
            known.become_absent(namespace)

    async def _remove_others(self, names: AbstractSet[NamespacedName], namespace: str) -> None:
        """Remove the rows of a scope but those of these names; other tasks run meanwhile.

        What they store meanwhile is newer, and stays.
        """
        pace = Pace()
        for rows in (self.rows, self.unreadable.by_name):
            gone = [at for at in rows.keys() - names if namespace in {EVERYWHERE, at[0]}]
            for name, row in [(at, rows[at]) for at in gone]:
                if rows.get(name) is row:
                    self.drop(name)
                await pace.rest()

    def store(self, row: R | UnreadableObject) -> None:
        """Store a row, whatever version is stored; only its metadata if it takes too much memory."""
        name, size = (row.namespace, row.name), 0
        if not isinstance(row, UnreadableObject):
            size = weight(row)
            if size > ROW_LIMIT:
                row = without_content(row, TOO_LARGE)
            elif not self.space.fits(row.namespace, size - self.sizes.get(name, 0)):
                row = without_content(row, NO_ROOM)
        if not isinstance(row, UnreadableObject):
            self._store_in(self.known, self.unreadable, row)
            self._resize(name, size)
        elif self._store_in(self.unreadable, self.known, row):
            log.warning(
                "object cannot be read",
                kind=self.kind.resource.plural,
                object=(named(row.namespace), named(row.name)),
                error=row.why.partition(":")[0],
            )

    def _store_in(self, home: Rows[S], other: Rows[Any], row: S) -> bool:
        """Store a row; return whether it differs from the stored one. An equal row causes no reconcile."""
        name = (row.namespace, row.name)
        if home.by_name.get(name) == row and name not in other.by_name:
            home.put(row)
            return False
        self.drop(name)
        self._announce(home.put(row))
        return True


def _limit_owners(obj: Object) -> None:
    if (count := len(listed(mapping(obj.get("metadata")).get("ownerReferences")))) > OWNERS:
        raise ObjectTooLargeError(f"it has {count} owners, and the limit is {OWNERS}; remove some")


Caches = Mapping[str, Cache[Any]]
"""Caches by the name of their kind."""


def holding(
    kind: Kind[R], rows: Iterable[R | UnreadableObject] = (), unknown: str = "", *, absent: bool = False
) -> Cache[R]:
    """Return a cache with these rows; `unknown` is why there may be others, empty if there are none."""
    cache = Cache(kind, availability=Availability({EVERYWHERE: Scope(unknown, absent=absent)}, unknown))
    for row in rows:
        home: Rows[Any] = cache.unreadable if isinstance(row, UnreadableObject) else cache.known
        home.put(row)
    return cache


def cache_of(caches: Caches, kind: Kind[R]) -> Cache[R]:
    """Return the cache of a kind."""
    return caches[kind.resource.kind]
