"""What the loop keeps of an object that it writes or watches: slotted values, and a digest of the rest.

The digest is over all that an author or a controller can set, with the defaults of the API server in it. It
stays the same while nobody changes the object; what was asked for has another one than what is stored of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final

import orjson

from intent import Object
from intent.annotations import SERVICE, is_paused
from intent.service.member import ServiceKey
from intent.shapes import listed, mapping, text
from kube.request import FIELD_MANAGER

VOLATILE: Final = frozenset(
    {
        *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"),
        *("deletionTimestamp", "deletionGracePeriodSeconds"),
    }
)
"""Fields of the metadata that the API server writes, and that differ though nobody changed the object."""
LONGEST: Final = 200
"""Characters that are kept of an error's text."""
UNTOLD: Final = frozenset({"apiVersion", "kind", "status"})
"""Fields of an object that tell no two apart: lists of Kubernetes' own kinds leave the first two out."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One of an object's `metadata.ownerReferences`."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


NO_CONTROLLER: Final = Owner()


@dataclass(frozen=True, slots=True)
class CachedObject:
    """One object."""

    namespace: str
    name: str
    uid: str = ""
    service: str = ""
    """The service in its label."""
    owners: tuple[Owner, ...] = ()
    applied: bool = False
    """Whether the controller applied it, by its `managedFields`."""
    replaced: bool = False
    """Whether others have written all of the spec that the controller applied."""
    deleting: bool = False
    paused: bool = False
    """Whether an annotation says that nothing is to be written for its service."""
    fingerprint: bytes = b""
    """Equal for two objects that are equal in all but status; empty for what we do not write."""
    index_keys: tuple[ServiceKey, ...] = ()
    """Where it meets objects that its label does not tell of: `index_keys.index_key`."""
    projection: Any = None
    """What its kind keeps beside."""
    version: int = field(default=0, compare=False)
    """Which version of the object it is; a later one is higher."""

    @property
    def controller(self) -> Owner:
        """The one owner whose `controller` is true."""
        return next((owner for owner in self.owners if owner.controller), NO_CONTROLLER)


class TooDeepError(Exception):
    """An object is nested so deep that walking through it is not safe."""


class TooLargeError(Exception):
    """An object holds more than is read of any."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object of which nothing is known but what it is called."""

    namespace: str
    name: str
    uid: str = ""
    service: str = ""
    """The service in its label."""
    why: str = ""
    version: int = field(default=0, compare=False)
    """Which version of the object it is; a later one is higher."""


def unreadable(obj: Object, error: Exception) -> Unreadable:
    """Keep what an object is called; its metadata is what every API server checks."""
    metadata = mapping(obj.get("metadata"))
    return Unreadable(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        service=text(mapping(metadata.get("labels")).get(SERVICE)),
        why=f"{type(error).__name__}: {str(error)[:LONGEST]}",
        version=version(metadata),
    )


def nothing(_obj: Object) -> None:
    """Keep nothing beside."""


def nowhere(_obj: Object) -> tuple[ServiceKey, ...]:
    """Meet nobody but those of the service."""
    return ()


def watched(
    obj: Object,
    projection: Callable[[Object], Any] = nothing,
    index_keys: Callable[[Object], tuple[ServiceKey, ...]] = nowhere,
) -> CachedObject:
    """Project an object that others write."""
    metadata = mapping(obj.get("metadata"))
    return CachedObject(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        service=text(mapping(metadata.get("labels")).get(SERVICE)),
        owners=owners(metadata),
        applied=is_applied(obj),
        replaced=is_replaced(obj),
        deleting=bool(metadata.get("deletionTimestamp")),
        paused=is_paused(metadata.get("annotations")),
        index_keys=index_keys(obj),
        projection=projection(obj),
        version=version(metadata),
    )


def cached_object(
    obj: Object,
    projection: Callable[[Object], Any] = nothing,
    index_keys: Callable[[Object], tuple[ServiceKey, ...]] = nowhere,
) -> CachedObject:
    """Project an object that we write, stored or wanted."""
    metadata = {key: value for key, value in mapping(obj.get("metadata")).items() if key not in VOLATILE}
    rest = {key: value for key, value in obj.items() if key not in UNTOLD}
    return replace(watched(obj, projection, index_keys), fingerprint=digest(rest | {"metadata": metadata}))


def digest(value: Any) -> bytes:
    """Digest JSON in canonical form. Raises TooDeepError if it is nested deeper than 254 levels."""
    try:
        written = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise TooDeepError("it is nested deeper than 254 levels") from error
    return blake2b(written, digest_size=16).digest()


def version(metadata: Object) -> int:
    """Read a version as a number: what it is by promise since Kubernetes 1.35 (KEP-5504), and was before."""
    said = text(metadata.get("resourceVersion"))
    return int(said) if said.isdecimal() else 0


def owners(metadata: Object) -> tuple[Owner, ...]:
    """Read the owner references of an object."""
    return tuple(
        Owner(
            text(one.get("kind")), text(one.get("name")), text(one.get("uid")), one.get("controller") is True
        )
        for one in map(mapping, listed(metadata.get("ownerReferences")))
    )


def is_applied(obj: Object) -> bool:
    """Whether the controller applied an object, by its `managedFields` (KEP-555)."""
    return bool(_applied(obj))


def is_replaced(obj: Object) -> bool:
    """Whether others have written all of the spec that the controller applied."""
    return "spec" in obj and not any("f:spec" in fields for fields in _applied(obj))


def applies(obj: Object, field: str) -> bool:
    """Whether the controller applied a field of the spec, and nobody has changed it since."""
    return any(f"f:{field}" in mapping(fields.get("f:spec")) for fields in _applied(obj))


def managed(obj: Object) -> list[Object]:
    """Give the entries of `metadata.managedFields`."""
    return list(map(mapping, listed(mapping(obj.get("metadata")).get("managedFields"))))


def _applied(obj: Object) -> list[Object]:
    """Give the fields of our own Apply entries."""
    return [
        mapping(entry.get("fieldsV1"))
        for entry in managed(obj)
        if entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply"
    ]


def is_ours(row: Any, owners: frozenset[str]) -> bool:
    """Whether the controller made an object for one of these owners: the one rule of ownership.

    The owners are the uids of the service's InferenceService and of its members. A label proves nothing:
    people set it on their own objects, and take it off ours.
    """
    return row.applied and any(owner.uid in owners for owner in row.owners)


def is_orphaned(row: Any, service: str) -> bool:
    """Whether the controller made it, and `--cascade=orphan` took its owners: we make nothing without one.

    One whose spec others have written since is theirs: to adopt it would replace that spec.
    """
    return row.applied and not row.replaced and not row.owners and row.service == service
