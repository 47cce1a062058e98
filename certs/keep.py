"""Keep a CA and a serving certificate in a Secret, and have the webhook configurations trust the CA.

Rules of this file:
- A new CA is stored and then trusted by every webhook configuration; only the next reconcile signs a serving
  certificate with it. By then every API server has seen the new `caBundle`.
- If no API server trusts the certificate that is served now, there is no reason to wait.
- If the Secret is lost, or restored from an older state, the CAs that the configurations trust stay trusted:
  a serving certificate of theirs is still mounted in running pods.
- All state is in the cluster: a process that starts continues where another one stopped.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from certs import objects, rotation
from certs.rotation import Kept, Terms
from intent import Object
from intent.names import api_path


@dataclass(frozen=True, slots=True)
class Cluster:
    """Calls of the API: read an object (None if it does not exist), apply one server-side, JSON-patch one."""

    get: Callable[[str], Awaitable[Object | None]]
    apply: Callable[[str, Object], Awaitable[Object]]
    patch: Callable[[str, list[Object]], Awaitable[Object]]


@dataclass(frozen=True, slots=True)
class Place:
    """The namespace and name of the Secret, and the API paths of the webhook configurations."""

    namespace: str
    name: str
    configurations: Sequence[str]

    @property
    def path(self) -> str:
        """The API path of the Secret."""
        return api_path("/api/v1/namespaces", self.namespace, "secrets", self.name)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The certificates after a reconcile, and the changes that it made, for the log."""

    kept: Kept
    done: tuple[str, ...]


async def reconcile(cluster: Cluster, place: Place, terms: Terms, now: datetime) -> Reconciled:
    """Make the next change, if one is due. Raises `ForeignError`, and what the cluster's callables raise."""
    stored = await cluster.get(place.path)
    found = {path: each for path in place.configurations if (each := await cluster.get(path))}
    known, trusted = objects.read(stored), objects.trusted(found.values())
    if known.ca_certificates:
        before = rotation.with_newer(known, trusted, now, terms)
    else:
        before = rotation.adopted(trusted, now, terms)
    kept = rotation.with_ca(before, now, terms)
    if kept != known:
        stored = await _store(cluster, place, kept, stored)
    trusting = await _trust(cluster, kept, found)
    done = ("CA", *trusting) if kept.key != before.key else trusting
    if not found or (trusting and _may_be_trusted(kept, before, now)):
        return Reconciled(kept, done)
    serving = rotation.with_serving(kept, objects.hosts(found.values()), now, terms)
    if serving == kept:
        return Reconciled(kept, done)
    await _store(cluster, place, serving, stored)
    return Reconciled(serving, (*done, "serving certificate"))


def _may_be_trusted(kept: Kept, before: Kept, now: datetime) -> bool:
    """Return whether clients may trust the served certificate; one that is not in the Secret is unknown."""
    return rotation.is_trusted(kept, now) if kept.serving else bool(before.ca_certificates)


async def _store(cluster: Cluster, place: Place, kept: Kept, before: Object | None) -> Object:
    return await cluster.apply(place.path, objects.secret(kept, place.namespace, place.name, before))


async def _trust(cluster: Cluster, kept: Kept, found: Mapping[str, Object]) -> tuple[str, ...]:
    """Write the CA bundle into every webhook configuration that lacks it; return the log entries."""
    changes = {path: objects.injection(each, kept.bundle) for path, each in found.items()}
    for path, operations in changes.items():
        if operations:
            await cluster.patch(path, operations)
    return tuple(f"trust by {path.rpartition('/')[2]}" for path, operations in changes.items() if operations)
