"""An AdmissionReview of the API server (`k8s.io/api` `admission/v1/types.go`), read for what we look at.

The rest is skipped where it stands: managedFields are half of a stored object, and an update sends two.
"""

from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from intent import Object

VERSION: Final = "admission.k8s.io/v1"
REVIEWED: Final = ("CREATE", "UPDATE")


class Malformed(ValueError):  # noqa: N818 - what it says is the adjective
    """The body is not an AdmissionReview that the API server would send."""


class Request(NamedTuple):
    """What we need of a review."""

    uid: str
    live: Object | None
    old: Object | None


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    """What is looked at of the metadata, whatever its shape."""

    name: Any = UNSET
    namespace: Any = UNSET
    uid: Any = UNSET
    generation: Any = UNSET
    creation_timestamp: Any = UNSET
    deletion_timestamp: Any = UNSET
    labels: Any = UNSET
    annotations: Any = UNSET


class _Object(msgspec.Struct, rename="camel", gc=False):
    """An object of any kind; its status is the business of others."""

    api_version: Any = UNSET
    kind: Any = UNSET
    metadata: _Metadata | UnsetType = UNSET
    spec: Any = UNSET


class _Request(msgspec.Struct, rename="camel", gc=False):
    uid: str
    operation: str
    sub_resource: str = ""
    object: _Object | None = None
    old_object: _Object | None = None


class _Review(msgspec.Struct, rename="camel", gc=False):
    api_version: Any = None
    request: _Request | None = None


_decode: Final = msgspec.json.Decoder(_Review).decode
_METADATA: Final = tuple(zip(_Metadata.__struct_fields__, _Metadata.__struct_encode_fields__, strict=True))


def read(body: bytes) -> Request:
    """Read a review; objects are None where there is nothing to look at, as on DELETE or a subresource."""
    try:
        review = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"not an AdmissionReview: {error}") from error
    request = review.request
    if review.api_version != VERSION or request is None or not request.uid:
        raise Malformed(f"not an AdmissionReview of {VERSION} with a request and its uid")
    if request.operation not in REVIEWED or request.sub_resource:
        return Request(request.uid, None, None)
    if request.object is None:
        raise Malformed(f"request.object must be an object on {request.operation}")
    old = request.old_object
    return Request(request.uid, _plain(request.object), None if old is None else _plain(old))


def _plain(found: _Object) -> Object:
    """Give the object as JSON has it, with what is looked at."""
    whole = {"apiVersion": found.api_version, "kind": found.kind, "spec": found.spec}
    plain = {key: value for key, value in whole.items() if value is not UNSET}
    if found.metadata is not UNSET:
        read = ((key, getattr(found.metadata, field)) for field, key in _METADATA)
        plain["metadata"] = {key: value for key, value in read if value is not UNSET}
    return plain
