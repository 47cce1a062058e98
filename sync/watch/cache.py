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
from sync.watch.availability import EVERYWHERE, Availability, Scope

log: Final = structlog.stdlib.get_logger(__name__)
R = TypeVar("R", bound=Row)
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
class Cache(Generic[R]):
    """Rows of one kind."""

    kind: Kind[R]
    changed: Callable[[Key], None] = lambda _key: None
    """Called with every key that a change concerns; nothing is, until this process is the leader."""
    rows: dict[NamespacedName, R] = field(default_factory=dict)
    """Rows of the readable objects."""
    unreadable: dict[NamespacedName, UnreadableObject] = field(default_factory=dict)
    by_key: dict[Key, dict[NamespacedName, None]] = field(default_factory=dict)
    """The names of the objects that concern a key, or may concern it."""
    availability: Availability = field(default_factory=Availability)
    """Whether the objects of the kind are known."""
    space: BytePool = field(default_factory=lambda: BytePool(ROWS))
    """The memory for the rows of all kinds."""
    sizes: dict[NamespacedName, int] = field(default_factory=dict)
    """The memory of each row (`cached.weight`)."""
    deleted: dict[NamespacedName, int] = field(default_factory=dict)
    """The versions of the latest deletions (`DELETIONS`), by name."""

    @property
    def newest(self) -> int:
        """The newest version of a row or of a deletion."""
        return max((*(row.resource_version for row in self.rows.values()), *self.deleted.values()), default=0)

    # --- lookups -----------------------------------------------------------------------------------

    def of(self, key: Key) -> tuple[R, ...]:
        """Return the rows that concern a key."""
        if not (names := self.by_key.get(key)):
            return ()
        return tuple([self.rows[name] for name in names if name in self.rows])

    def count(self, key: Key) -> int:
        """Return the number of objects that concern a key, or may concern it."""
        return len(self.by_key.get(key, ()))

    def unreadable_of(self, key: ServiceKey) -> tuple[UnreadableObject, ...]:
        """Return the unreadable objects that may concern a key."""
        return tuple(self.unreadable[name] for name in self.by_key.get(key, ()) if name in self.unreadable)

    def services_of(self, index_key: IndexKey) -> tuple[ServiceKey, ...]:
        """Return the services of the rows with an index key, each once."""
        return tuple({(row.namespace, row.service): None for row in self.of(index_key) if row.service})

    def gap(self, key: ServiceKey) -> str:
        """Return why not all objects are known that concern a key; empty if they are."""
        kind = self.kind.resource.kind
        for row in self.unreadable_of(key):
            return f"{kind} {row.name} cannot be read: {row.why}"
        trouble = self.availability.trouble_in(key[0])
        return f"{kind} is unavailable: {trouble}" if trouble else ""

    def row(self, name: NamespacedName) -> R | UnreadableObject | None:
        """Return the row of an object, readable or not."""
        return self.rows.get(name) or self.unreadable.get(name)

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
        known = self.row(name)
        if row.resource_version < self.deleted.get(name, 0):
            self._announce(row_keys(row))
        elif known is None or row.resource_version >= known.resource_version:
            self.store(row)

    def lose(self, name: NamespacedName, version: int) -> None:
        """Remove the object of a DELETED event, unless a newer one is stored.

        The event may come late: after the answer to our own write, which created or labelled it again.
        """
        known = self.row(name)
        if known is None or version >= known.resource_version:
            self.drop(name)
            self.deleted[name] = version
            if len(self.deleted) > DELETIONS:
                del self.deleted[next(iter(self.deleted))]

    def drop(self, name: NamespacedName) -> None:
        """Remove a row."""
        row = self.rows.pop(name, None) or self.unreadable.pop(name, None)
        self._resize(name, 0)
        keys = row_keys(row) if row else ()
        for key in keys:
            del self.by_key[key][name]
            if not self.by_key[key]:
                del self.by_key[key]
        self._announce(keys)

    def has_room_again(self) -> bool:
        """Return whether there is room for a row that was left without its content, so that a list helps."""
        left_out = (row for row in self.unreadable.values() if row.why == NO_ROOM)
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
        self.availability.become_known(namespace)

    async def fail(self, why: str, *, denied: bool, namespace: str = EVERYWHERE) -> None:
        """Record a failed list; `denied`: the API server's discovery lacks the kind (`Availability.fail`)."""
        scope, plural = self.availability.scopes[namespace], self.kind.resource.plural
        was_absent = scope.absent
        if self.availability.fail(namespace, why, denied=denied):
            log.error("kind unavailable", kind=plural, namespace=namespace)
        if scope.absent and not was_absent:
            log.info("kind not served", kind=plural)
            await self._remove_others(frozenset(), namespace)
        if scope.absent:
            self.availability.become_known(namespace, absent=True)

    async def _remove_others(self, names: AbstractSet[NamespacedName], namespace: str) -> None:
        """Remove the rows of a scope but those of these names; other tasks run meanwhile.

        What they store meanwhile is newer, and stays.
        """
        pace, known = Pace(), self.rows | self.unreadable
        for name in known.keys() - names:
            if namespace in {EVERYWHERE, name[0]} and self.row(name) is known[name]:
                self.drop(name)
            await pace.rest()

    def store(self, row: R | UnreadableObject) -> None:
        """Store a row, whatever version is stored; only its metadata if it takes too much memory.

        An equal row causes no reconcile.
        """
        name, size = (row.namespace, row.name), 0
        if not isinstance(row, UnreadableObject):
            size = weight(row)
            if size > ROW_LIMIT:
                row = without_content(row, TOO_LARGE)
            elif not self.space.fits(row.namespace, size - self.sizes.get(name, 0)):
                row = without_content(row, NO_ROOM)
        if is_new := row != self.row(name):
            self.drop(name)
        self.insert(row)
        if is_new:
            self._announce(row_keys(row))
        if not isinstance(row, UnreadableObject):
            self._resize(name, size)
        elif is_new:
            log.warning(
                "object cannot be read",
                kind=self.kind.resource.plural,
                object=(named(row.namespace), named(row.name)),
                error=row.why.partition(":")[0],
            )

    def insert(self, row: R | UnreadableObject) -> None:
        """Store a row that is new, or equal to the stored one, whatever memory it takes."""
        name = (row.namespace, row.name)
        home: dict[NamespacedName, Any] = self.unreadable if isinstance(row, UnreadableObject) else self.rows
        home[name] = row
        for key in row_keys(row):
            self.by_key.setdefault(key, {})[name] = None


def _limit_owners(obj: Object) -> None:
    if (count := len(listed(mapping(obj.get("metadata")).get("ownerReferences")))) > OWNERS:
        raise ObjectTooLargeError(f"it has {count} owners, and the limit is {OWNERS}; remove some")


Caches = Mapping[str, Cache[Any]]
"""Caches by the name of their kind."""


def holding(kind: Kind[R], rows: Iterable[R | UnreadableObject] = (), unknown: str = "") -> Cache[R]:
    """Return a cache with these rows; `unknown` is why there may be others, empty if there are none."""
    cache = Cache(kind, availability=Availability({EVERYWHERE: Scope(unknown)}, unknown))
    for row in rows:
        cache.insert(row)
    return cache


def cache_of(caches: Caches, kind: Kind[R]) -> Cache[R]:
    """Return the cache of a kind."""
    return caches[kind.resource.kind]
