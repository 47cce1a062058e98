"""What the caches hold of objects: slotted values, and a digest of the rest.

The digest covers everything that an author or a controller can set, with the defaults of the API server
included. It is the same until the object changes. The digest of a desired object, which lacks the defaults,
differs from the digest of the stored object.
"""

import sys
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import msgspec
import orjson

from intent import Object
from intent.annotations import SERVICE, is_paused
from intent.shapes import listed, mapping, text
from kube.request import FIELD_MANAGER
from sync.observed.index_keys import Key

SET_BY_SERVER: Final = frozenset(
    {
        *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"),
        *("deletionTimestamp", "deletionGracePeriodSeconds"),
    }
)
"""Fields of the metadata that the API server sets: they are no part of what an author writes."""
ROW: Final = 1024
"""Bytes that a row needs beside its fields."""
KEY: Final = 640
"""Bytes that a row needs for one index key."""
TIMES: Final = 4
"""How many times more memory the fields of a row need than their encoded form, or less."""
_ENCODE: Final = msgspec.msgpack.Encoder(enc_hook=str).encode
LONGEST: Final = 200
"""Maximum number of characters kept of a message, of another controller or of an error."""
NOT_DIGESTED: Final = frozenset({"apiVersion", "kind", "status"})
"""Top-level fields that are not part of the digest: lists of built-in kinds omit the first two."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is kept of every object, whatever its kind: which one it is, and in which version."""

    namespace: str
    name: str
    uid: str = ""
    service: str = ""
    """The service that the object belongs to, by its label; empty if it belongs to none."""
    resource_version: int = field(default=0, compare=False)
    """The version of the object; a later version has a higher number."""

    @property
    def index_keys(self) -> tuple[Key, ...]:
        """Further keys under which a cache finds the row: none, unless a kind has some."""
        return ()


@dataclass(frozen=True, slots=True)
class UnreadableObject(Row):
    """An object that could not be projected; only its metadata is known."""

    why: str = ""

    @property
    def index_keys(self) -> tuple[Key, ...]:
        """The service of the same name: a PodGroup or an InferenceService may have lost its label."""
        return ((self.namespace, self.name),)


@dataclass(frozen=True, slots=True)
class Owner:
    """One entry of `metadata.ownerReferences`."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


@dataclass(frozen=True, slots=True)
class AppliedObject(Row):
    """An object of a kind that the controller applies."""

    owners: tuple[Owner, ...] = ()
    applied: bool = False
    """Whether the controller applied it, by its `managedFields`."""
    replaced: bool = False
    """Whether other field managers have written all of the spec that the controller applied."""
    deleting: bool = False
    fingerprint: bytes = b""
    """Equal for two objects with equal content, the status aside."""
    paused: bool = False
    """Whether an annotation pauses its service."""
    index_keys: tuple[Key, ...] = ()


def weight(row: Row) -> int:
    """Return about how many bytes of memory a cache needs for a row, and no fewer."""
    try:
        length = len(_ENCODE(row))
    except (OverflowError, UnicodeEncodeError):  # a number of more than 64 bits, half of a surrogate pair
        length = len(repr(row))
    return ROW + TIMES * length + KEY * len(row.index_keys)


def without_content(row: Row, why: str) -> UnreadableObject:
    """Return the metadata of a row that takes too much memory."""
    return UnreadableObject(row.namespace, row.name, row.uid, row.service, row.resource_version, why)


class TooDeepError(Exception):
    """An object is nested too deeply to be walked through safely."""


class ObjectTooLargeError(Exception):
    """An object is larger than the limit up to which objects are read."""


def unreadable(obj: Object, error: Exception) -> UnreadableObject:
    """Build the row of an object that could not be projected; every API server validates the metadata."""
    return UnreadableObject(**identity(obj), why=f"{type(error).__name__}: {str(error)[:LONGEST]}")


def identity(obj: Object) -> Object:
    """Return the fields of `Row`."""
    metadata = mapping(obj.get("metadata"))
    return {
        "namespace": shared(metadata.get("namespace")),
        "name": text(metadata.get("name")),
        "uid": text(metadata.get("uid")),
        "service": shared(mapping(metadata.get("labels")).get(SERVICE)),
        "resource_version": resource_version(metadata),
    }


def shared(value: Any) -> str:
    """Return a text that many objects have, as one object in memory."""
    return sys.intern(text(value))


def common_fields(obj: Object) -> Object:
    """Return the fields of `AppliedObject` but its fingerprint and its index keys."""
    metadata = mapping(obj.get("metadata"))
    return {
        **identity(obj),
        "owners": owners(metadata),
        "applied": is_applied(obj),
        "replaced": is_replaced(obj),
        "deleting": bool(metadata.get("deletionTimestamp")),
        "paused": is_paused(metadata.get("annotations")),
    }


def applied_object(obj: Object) -> AppliedObject:
    """Project an object, either stored or desired, of a kind of which no further field is used."""
    return AppliedObject(**applied_fields(obj))


def applied_fields(obj: Object) -> Object:
    """Return the fields of `AppliedObject` but its index keys. Raises TooDeepError as `canonical`."""
    metadata = {key: value for key, value in mapping(obj.get("metadata")).items() if key not in SET_BY_SERVER}
    rest = {key: value for key, value in obj.items() if key not in NOT_DIGESTED}
    return {**common_fields(obj), "fingerprint": digest(rest | {"metadata": metadata})}


def digest(value: Any) -> bytes:
    """Return the digest of JSON in canonical form. Raises TooDeepError as `canonical`."""
    return blake2b(canonical(value), digest_size=16).digest()


def canonical(value: Any) -> bytes:
    """Return JSON in canonical form. Raises TooDeepError if it is nested deeper than 254 levels."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise TooDeepError("it is nested deeper than 254 levels") from error


def resource_version(metadata: Object) -> int:
    """Return `resourceVersion` as a number, 0 if it is none.

    The API promises a decimal number since Kubernetes 1.35 (KEP-5504); it was one before.
    """
    version = text(metadata.get("resourceVersion"))
    return int(version) if version.isdecimal() else 0


def owners(metadata: Object) -> tuple[Owner, ...]:
    """Read `metadata.ownerReferences`."""
    return tuple(
        Owner(
            kind=shared(one.get("kind")),
            name=shared(one.get("name")),
            uid=shared(one.get("uid")),
            controller=one.get("controller") is True,
        )
        for one in map(mapping, listed(metadata.get("ownerReferences")))
    )


def is_applied(obj: Object) -> bool:
    """Return whether the controller applied an object, by its `managedFields` (KEP-555)."""
    return bool(_applied(obj))


def is_replaced(obj: Object) -> bool:
    """Return whether other field managers have written all of the spec that the controller applied."""
    return "spec" in obj and not any("f:spec" in fields for fields in _applied(obj))


def applies(obj: Object, field: str) -> bool:
    """Return whether the controller applied a field of the spec and still owns it."""
    return any(f"f:{field}" in mapping(fields.get("f:spec")) for fields in _applied(obj))


def managed(obj: Object) -> list[Object]:
    """Return the entries of `metadata.managedFields`."""
    return list(map(mapping, listed(mapping(obj.get("metadata")).get("managedFields"))))


def _applied(obj: Object) -> list[Object]:
    """Return the fields of the controller's own Apply entries: it applies no subresource of these kinds."""
    return [
        mapping(entry.get("fieldsV1"))
        for entry in managed(obj)
        if (entry.get("manager"), entry.get("operation")) == (FIELD_MANAGER, "Apply")
        and not entry.get("subresource")
    ]


def row_keys(row: Row) -> tuple[Key, ...]:
    """Return the keys under which a cache finds a row, each once: its service, then its index keys."""
    service = ((row.namespace, row.service),) if row.service else ()
    return tuple(dict.fromkeys((*service, *row.index_keys)))
