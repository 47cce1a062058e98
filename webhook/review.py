"""Read an AdmissionReview and answer it: bytes in, bytes out (`k8s.io/api` `admission/v1/types.go`). Pure.

What is not used of a review is skipped. managedFields are half of a stored object, and an update sends two
objects; they stay raw JSON (`webhook.overlay.written` reads them). The fields of a spec are decoded on
demand, since most updates can be recognized as irrelevant by comparing bytes.

/mutate never denies and never warns; an object that it cannot read is left unchanged. /validate gets the
final object and reports all errors and warnings at once. Both add an audit annotation, which the API server
logs as `<name of the webhook>/record` and `<name of the webhook>/findings`.
"""

import re
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

import msgspec
import orjson
from msgspec import Raw

from intent import Object
from intent.annotations import BASE_REFS
from intent.errors import FieldError
from intent.inferenceservice import v1alpha1
from intent.inferencetemplate import v1alpha1 as template
from intent.settings import Settings
from intent.shapes import annotations, metadata, text
from intent.template import Templates
from webhook import inferenceservice, inferencetemplate
from webhook.check import check
from webhook.expand import DEFAULTS, RECORD, operations
from webhook.overlay.patch import Operation
from webhook.state import at_once, inspect
from webhook.templates.content import OFF, needed

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
    live, stored = _object(request.object), None if old is None else _object(old)
    if metadata(live).get("namespace", request.namespace) != request.namespace:
        raise Malformed("the object names another namespace than its request, which no API server sends")
    return AdmissionRequest(request.uid, live, stored, request.namespace or "", request.dry_run is True)


def opened(request: AdmissionRequest) -> tuple[Object, Object | None]:
    """Decode the specs of both objects. Fields with the same bytes in both are decoded once, and shared."""
    known = dict[bytes, Any]()
    objects = [request.live or {}, request.old or {}]
    for index, lws in enumerate(objects):
        if isinstance(spec := lws.get("spec"), dict):
            fields = {key: bytes(value) for key, value in spec.items()}
            known |= {text: _read(_value, text) for text in fields.values() if text not in known}
            objects[index] = {**lws, "spec": {key: known[text] for key, text in fields.items()}}
    live, old = objects
    return live, request.old and old


def _read(decode: Callable[[bytes | Raw], _T], body: bytes | Raw) -> _T:
    try:
        return decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"not an AdmissionReview: {error}") from error


def _object(fields: dict[str, Raw]) -> Object:
    """Return an object without its status. `managedFields` and the fields of the spec stay raw."""
    plain: Object = {key: _read(_value, fields[key]) for key in ("apiVersion", "kind") if key in fields}
    if "spec" in fields:
        is_map = bytes(fields["spec"])[:1] == b"{"
        plain["spec"] = _read(_fields if is_map else _value, fields["spec"])
    if "metadata" in fields:
        plain["metadata"] = {
            key: value if key == "managedFields" else _read(_value, value)
            for key, value in _read(_fields, fields["metadata"]).items()
        }
    return plain


# --- the answer ---------------------------------------------------------------------------------------

MESSAGE_LIMIT: Final = 4096
"""Bytes of the message of a denial. The API server accepts more, terminals and Events do not."""
MOST: Final = 20
"""Errors that a denial names."""
CAUSE_LENGTH: Final = 512
"""Bytes of the path and of the message of each."""
WARNINGS_LIMIT: Final = 20
NAME_LENGTH: Final = 253
"""Characters of a name of an object (RFC 1123)."""
WARNING_LENGTH: Final = 200
"""Characters of a warning, path included, so that `WARNINGS_LIMIT` of them are not truncated.

The API server truncates one at 256 characters, and all together at 4096
(`k8s.io/apiserver` `pkg/endpoints/filters/warning.go`).
"""
_UNPRINTED: Final = re.compile("[^ -~]")
"""Characters that a warning shows as `?`."""
CALLED_FROM: Final = "check.fusioninfer.io/called-from"
"""The annotation by which a dry run asks from which address its review comes."""
PEER: Final = "called from <peer>"
"""The warning, before the server puts the address into it: as a whole, as an author may quote its parts."""
AUDIT_LENGTH: Final = 256
"""Bytes of an audit annotation."""
CHECKS: Final[Mapping[str, Callable[[Object, Object | None, Settings], list[FieldError]]]] = {
    v1alpha1.KIND: inferenceservice.check,
    template.KIND: inferencetemplate.check,
}
"""The check of each kind that is not a LeaderWorkerSet."""


class Wanted(NamedTuple):
    """The names of templates to read, and the namespace in which they are looked up first."""

    namespace: str
    names: tuple[str, ...] = ()


class AdmissionAnswer(NamedTuple):
    """The body of the answer, and its outcome: `unchanged`, `patched`, `allowed` or `denied`.

    Of a review that failed it is `malformed`, `slow`, `bug`, or `lost` with its process; then the body is the
    text of the refusal, or JSON for the log.
    """

    body: bytes
    outcome: str


def wanted(body: bytes) -> Wanted:
    """Return the templates to read for a request of /mutate.

    Raises:
        Malformed: the body is not an AdmissionReview.
    """
    request = read(body)
    is_ours = request.live is not None and not at_once(request.live, request.old)
    return Wanted(request.namespace, needed(request.live or {}, request.old) if is_ours else ())


def mutate(body: bytes, settings: Settings = DEFAULTS, templates: Templates | None = None) -> AdmissionAnswer:
    """Answer /mutate: a patch, or nothing. `templates` are those of `wanted`; None if none can be read.

    Raises:
        Malformed: the body is not an AdmissionReview.
    """
    request = read(body)
    live, old = request.live, request.old
    try:
        if live is None or at_once(live, old):
            return _unchanged(request)
        if templates is None and BASE_REFS in annotations(live):
            templates = dict.fromkeys(needed(live, old), OFF) or None
        live, old = opened(request)
        changes = operations(live, inspect(live, old, templates), settings)
        if not changes:
            return _unchanged(request)
        patch = b2a_base64(orjson.dumps(changes), newline=False).decode()
        response = {"allowed": True, "patchType": "JSONPatch", "patch": patch}
        response |= {"auditAnnotations": _audit(changes)}
        return AdmissionAnswer(_answer(request.uid, response), "patched")
    except _TOO_LARGE as error:
        _refuse(error)


def _unchanged(request: AdmissionRequest) -> AdmissionAnswer:
    return AdmissionAnswer(_answer(request.uid, {"allowed": True}), "unchanged")


def validate(body: bytes, settings: Settings = DEFAULTS) -> AdmissionAnswer:
    """Answer /validate: allowed or denied, with every error and warning.

    Raises:
        Malformed: the body is not an AdmissionReview.
    """
    request = read(body)
    try:
        live, old = opened(request)
        of_kind = CHECKS.get(text(live.get("kind")), partial(check, dry_run=request.dry_run))
        findings = [] if request.live is None else of_kind(live, old, settings)
        errors = [finding for finding in findings if finding.severity == "error"]
        response: Object = {"allowed": not errors}
        if errors:
            response["status"] = status(errors, request.live or {})
        if len(findings) > len(errors):
            response["warnings"] = list(warnings(findings))
        if request.dry_run and CALLED_FROM in annotations(request.live):
            response["warnings"] = [*response.get("warnings", ()), PEER]
        if findings:
            codes = ",".join(sorted({finding.code for finding in findings}))
            response["auditAnnotations"] = {"findings": cut(codes, AUDIT_LENGTH)}
        return AdmissionAnswer(_answer(request.uid, response), "denied" if errors else "allowed")
    except _TOO_LARGE as error:
        _refuse(error)


_TOO_LARGE: Final = (RecursionError, orjson.JSONEncodeError)
"""What is raised for objects that are nested too deep, or have integers over 64 bits.

orjson writes 254 levels, and Python allows a thousand nested calls.
"""


def _refuse(error: Exception) -> NoReturn:
    """Raise `Malformed` for an error of an object that is too large, else the error."""
    if isinstance(error, RecursionError) or "Recursion" in str(error):
        raise Malformed("nested too deep") from error
    if "64-bit" in str(error):
        raise Malformed("a whole number has more than 64 bits") from error
    raise error


def _audit(operations: Iterable[Operation]) -> dict[str, str]:
    """Return the audit annotation: a digest of the new record, or `withdrawn`, `kept`, or `unfilled`.

    A record without parts only says what became of the templates: the object is not expanded.
    """
    for operation in operations:
        if operation["path"] == RECORD:
            text = operation.get("value", "")
            record = "unfilled" if '"parts":{}' in text else sha256(text.encode()).hexdigest()[:32]
            return {"record": record if text else "withdrawn"}
    return {"record": "kept"}


def status(errors: list[FieldError], live: Object) -> Object:
    """Return the Status of a denial, in the form of the API server's own (reason Invalid, code 422)."""
    name = cut(text(metadata(live).get("name")), NAME_LENGTH)
    kind = text(live.get("kind"))
    kind = kind if kind in CHECKS else "LeaderWorkerSet"
    causes = [
        {
            "reason": "FieldValueInvalid",
            "field": cut(error.path, CAUSE_LENGTH),
            "message": cut(f"{error.message} ({error.code})", CAUSE_LENGTH),
        }
        for error in errors[:MOST]
    ]
    return {
        "code": 422,
        "reason": "Invalid",
        "status": "Failure",
        "message": cut("; ".join(map(str, errors[:MOST])), MESSAGE_LIMIT),
        "details": {"kind": kind, "name": name, "causes": causes},
    }


def warnings(findings: list[FieldError]) -> Iterator[str]:
    """Yield the warnings in plain ASCII, one line each. The last one counts those left out."""
    warned = [finding for finding in findings if finding.severity == "warning"]
    shown = warned if len(warned) <= WARNINGS_LIMIT else warned[: WARNINGS_LIMIT - 1]
    for finding in shown:
        yield warning(finding)
    if len(shown) < len(warned):
        yield f"and {len(warned) - len(shown)} more; run: fusioninfer validate -f FILE"


def warning(finding: FieldError) -> str:
    """Return one warning: code, message, and the path if it fits."""
    text = _UNPRINTED.sub("?", f"{finding.code}: {finding.message}")
    where = _UNPRINTED.sub("?", f" [{finding.path.removeprefix('spec.leaderWorkerTemplate.')}]")
    return cut(text, WARNING_LENGTH) if len(text + where) > WARNING_LENGTH else text + where


def cut(text: str, limit: int) -> str:
    """Truncate a text to `limit` bytes of UTF-8."""
    if len(text) <= limit and text.isascii():
        return text
    encoded = text.encode("utf-8", "replace")
    return text if len(encoded) <= limit else encoded[: limit - 3].decode("utf-8", "ignore") + "..."


def _answer(uid: str, response: Any) -> bytes:
    return orjson.dumps(
        {"apiVersion": VERSION, "kind": "AdmissionReview", "response": {"uid": uid, **response}}
    )
