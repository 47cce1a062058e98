"""Decode the AdmissionReview of an API server (`k8s.io/api` `admission/v1/types.go`), as far as it is used.

Other fields are skipped. managedFields are half of a stored object, and an update sends two objects; they
stay raw JSON (`webhook.overlay.written` reads them). The fields of a spec are decoded on demand, since most
updates can be recognized as irrelevant by comparing bytes.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

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


class _Request(msgspec.Struct, rename="camel", gc=False):
    uid: str
    operation: str
    sub_resource: str = ""
    namespace: str | None = None
    dry_run: bool | None = None
    object: dict[str, Raw] | None = None
    old_object: dict[str, Raw] | None = None


class _Review(msgspec.Struct, rename="camel", gc=False):
    api_version: Any = None
    request: _Request | None = None


_T = TypeVar("_T")
_review: Final = msgspec.json.Decoder(_Review).decode
_fields: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_value: Final = msgspec.json.Decoder().decode


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
    known = dict[bytes, Any]()
    live = _opened(request.live or {}, known)
    return live, request.old and _opened(request.old, known)


def _opened(lws: Object, known: dict[bytes, Any]) -> Object:
    spec = lws.get("spec")
    if not isinstance(spec, dict):
        return lws
    fields = {key: bytes(value) for key, value in spec.items()}
    known |= {text: _read(_value, text) for text in fields.values() if text not in known}
    return {**lws, "spec": {key: known[text] for key, text in fields.items()}}


def _read(decode: Callable[[bytes | Raw], _T], body: bytes | Raw) -> _T:
    try:
        return decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"not an AdmissionReview: {error}") from error


def _plain(found: dict[str, Raw]) -> Object:
    """Return an object without its status. `managedFields` and the fields of the spec stay raw."""
    plain: Object = {key: _read(_value, found[key]) for key in ("apiVersion", "kind") if key in found}
    if "spec" in found:
        is_map = bytes(found["spec"])[:1] == b"{"
        plain["spec"] = _read(_fields if is_map else _value, found["spec"])
    if "metadata" in found:
        plain["metadata"] = {
            key: value if key == "managedFields" else _read(_value, value)
            for key, value in _read(_fields, found["metadata"]).items()
        }
    return plain
