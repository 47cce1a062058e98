"""Keep an authority and a leaf in a Secret, and the authority trusted: trust first, serve then.

Rules of this file:
- A new authority is stored, then trusted by every webhook configuration, and only a look later signs a
  leaf: by then every API server has heard of it.
- Where nothing that anybody believes is served, there is nothing to wait for.
- If the Secret is lost, what the configurations trust stays trusted: its leaf is still mounted somewhere.
- What the cluster holds is all there is to know: a process that starts goes on where another one ended.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from certs import objects, rotation
from certs.rotation import Kept, Terms
from intent import Object


@dataclass(frozen=True, slots=True)
class Cluster:
    """How to read an object at a path (None if there is none), apply one server-side, and JSON-patch one."""

    get: Callable[[str], Awaitable[Object | None]]
    apply: Callable[[str, Object], Awaitable[Object]]
    patch: Callable[[str, list[Object]], Awaitable[Object]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the Secret is, and which webhook configurations trust what it holds, by their paths."""

    namespace: str
    name: str
    configurations: Sequence[str]

    @property
    def path(self) -> str:
        """The path of the Secret."""
        return f"/api/v1/namespaces/{self.namespace}/secrets/{self.name}"


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What there is after a look, and what was done to get there, in words."""

    kept: Kept
    done: tuple[str, ...]


async def reconcile(cluster: Cluster, place: Place, terms: Terms, now: datetime) -> Reconciled:
    """Take the next step, if one is due. Raises `ForeignError`, and what the cluster's callables raise."""
    stored = await cluster.get(place.path)
    found = {path: each for path in place.configurations if (each := await cluster.get(path))}
    before = objects.read(stored)
    if not before.ca_certificates:
        before = rotation.found(objects.trusted(found.values()), now, terms)
    kept = rotation.with_ca(before, now, terms)
    if kept != before:
        stored = await _store(cluster, place, kept, stored)
    trusting = await _trust(cluster, kept, found)
    done = ("authority", *trusting) if kept.key != before.key else trusting
    if not found or (trusting and _is_believed(kept, before, now)):
        return Reconciled(kept, done)
    serving = rotation.with_serving(kept, objects.hosts(found.values()), now, terms)
    if serving == kept:
        return Reconciled(kept, done)
    await _store(cluster, place, serving, stored)
    return Reconciled(serving, (*done, "leaf"))


def _is_believed(kept: Kept, before: Kept, now: datetime) -> bool:
    """Whether what is served now may be believed; of a leaf that is not kept nobody knows."""
    return rotation.is_served(kept, now) if kept.serving else bool(before.ca_certificates)


async def _store(cluster: Cluster, place: Place, kept: Kept, before: Object | None) -> Object:
    return await cluster.apply(place.path, objects.secret(kept, place.namespace, place.name, before))


async def _trust(cluster: Cluster, kept: Kept, found: Mapping[str, Object]) -> tuple[str, ...]:
    """Have every webhook configuration trust what is kept; say which did not."""
    changes = {path: objects.injection(each, kept.bundle) for path, each in found.items()}
    for path, operations in changes.items():
        if operations:
            await cluster.patch(path, operations)
    return tuple(f"trust by {path.rpartition('/')[2]}" for path, operations in changes.items() if operations)
