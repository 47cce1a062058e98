"""Decode the AdmissionReview of an API server (`k8s.io/api` `admission/v1/types.go`), as far as it is used.

Other fields are skipped. managedFields are half of a stored object, and an update sends two objects; they
stay raw JSON (`webhook.overlay.written` reads them). The fields of a spec are decoded on demand, since most
updates can be recognized as irrelevant by comparing bytes.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from intent import Object
from intent.shapes import metadata

VERSION: Final = "admission.k8s.io/v1"
REVIEWED: Final = ("CREATE", "UPDATE")


class Malformed(ValueError):  # noqa: N818 - the name is an adjective
    """The body is not an AdmissionReview that the API server would send."""


class AdmissionRequest(NamedTuple):
    """The admission request. The fields of both specs are raw JSON: comparable, and decoded by `opened`."""

    uid: str
    live: Object | None
    old: Object | None
    namespace: str = ""
    dry_run: bool = False


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    """The metadata that is used. Any field may have any JSON type."""

    name: Any = UNSET
    namespace: Any = UNSET
    uid: Any = UNSET
    generation: Any = UNSET
    creation_timestamp: Any = UNSET
    deletion_timestamp: Any = UNSET
    labels: Any = UNSET
    annotations: Any = UNSET
    managed_fields: Raw | UnsetType = UNSET


class _Object(msgspec.Struct, rename="camel", gc=False):
    """An object of any kind, without its status."""

    api_version: Any = UNSET
    kind: Any = UNSET
    metadata: _Metadata | UnsetType = UNSET
    spec: Raw | UnsetType = UNSET


class _Request(msgspec.Struct, rename="camel", gc=False):
    uid: str
    operation: str
    sub_resource: str = ""
    namespace: str | None = None
    dry_run: bool | None = None
    object: _Object | None = None
    old_object: _Object | None = None


class _Review(msgspec.Struct, rename="camel", gc=False):
    api_version: Any = None
    request: _Request | None = None


_T = TypeVar("_T")
_review: Final = msgspec.json.Decoder(_Review).decode
_fields: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_value: Final = msgspec.json.Decoder().decode
_METADATA: Final = tuple(zip(_Metadata.__struct_fields__, _Metadata.__struct_encode_fields__, strict=True))


def read(body: bytes) -> AdmissionRequest:
    """Decode an AdmissionReview. Both objects are None on DELETE and for subresources, which need no answer.

    Raises:
        Malformed: the body is not an AdmissionReview of version `VERSION`, or its object names another
            namespace than the request: the API server compares the two before it asks (`k8s.io/apiserver`
            `pkg/registry/rest/meta.go`).
    """
    review = _read(_review, body)
    request = review.request
    if review.api_version != VERSION or request is None or not request.uid:
        raise Malformed(f"not an AdmissionReview of {VERSION} with a request and its uid")
    if request.operation not in REVIEWED or request.sub_resource:
        return AdmissionRequest(request.uid, None, None)
    if request.object is None:
        raise Malformed(f"request.object must be an object on {request.operation}")
    old = request.old_object
    live, stored = _plain(request.object), None if old is None else _plain(old)
    if metadata(live).get("namespace", request.namespace) != request.namespace:
        raise Malformed("the object names another namespace than its request, which no API server sends")
    return AdmissionRequest(request.uid, live, stored, request.namespace or "", request.dry_run is True)


def opened(request: AdmissionRequest) -> tuple[Object, Object | None]:
    """Decode the specs of both objects. Fields with the same bytes in both are decoded once, and shared."""
    live, old = request.live or {}, request.old
    spec = live.get("spec")
    if not isinstance(spec, dict):
        return live, old and _opened(old, {}, {})
    read = {key: _read(_value, value) for key, value in spec.items()}
    return {**live, "spec": read}, old and _opened(old, spec, read)


def _opened(old: Object, spec: dict[str, Raw], read: Object) -> Object:
    known = old.get("spec")
    if not isinstance(known, dict):
        return old
    same = {key for key, value in known.items() if spec.get(key) == value}
    return {**old, "spec": {key: read[key] if key in same else _read(_value, known[key]) for key in known}}


def _read(decode: Callable[[bytes | Raw], _T], body: bytes | Raw) -> _T:
    try:
        return decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"not an AdmissionReview: {error}") from error


def _spec(found: Raw) -> Any:
    """Split a spec into its raw fields; decode it as it is if it is not an object."""
    return _read(_fields if bytes(found)[:1] == b"{" else _value, found)


def _plain(found: _Object) -> Object:
    """Return the object as a dict of the fields that are used."""
    whole = {"apiVersion": found.api_version, "kind": found.kind}
    plain = {key: value for key, value in whole.items() if value is not UNSET}
    if found.spec is not UNSET:
        plain["spec"] = _spec(found.spec)
    if found.metadata is not UNSET:
        read = ((key, getattr(found.metadata, field)) for field, key in _METADATA)
        plain["metadata"] = {key: value for key, value in read if value is not UNSET}
    return plain
