"""Answer an AdmissionReview: bytes in, bytes out (`k8s.io/api` `admission/v1/types.go`). Pure.

/mutate never denies and never warns; an object that it cannot read is left unchanged. /validate gets the
final object and reports all errors and warnings at once. Both add an audit annotation, which the API server
logs as `<name of the webhook>/record` and `<name of the webhook>/findings`.
"""

from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

import orjson

from intent import Object
from intent.annotations import BASE_REFS
from intent.errors import FieldError
from intent.inferenceservice import v1alpha1
from intent.inferencetemplate import v1alpha1 as template
from intent.settings import Settings
from intent.shapes import annotations, text
from intent.template import Templates
from webhook import inferenceservice, inferencetemplate
from webhook.check import check
from webhook.expand import DEFAULTS, RECORD, operations
from webhook.overlay.patch import Operation
from webhook.request import VERSION, AdmissionRequest, Malformed, opened, read
from webhook.state import at_once, inspect
from webhook.templates.content import OFF, needed

ReviewOutcome = Literal["unchanged", "patched", "allowed", "denied"]

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
    """The body of the answer, and its outcome, for the metrics."""

    body: bytes
    outcome: ReviewOutcome


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
    return _answered(partial(_mutated, templates=templates), read(body), settings)


def validate(body: bytes, settings: Settings = DEFAULTS) -> AdmissionAnswer:
    """Answer /validate: allowed or denied, with every error and warning.

    Raises:
        Malformed: the body is not an AdmissionReview.
    """
    return _answered(_validated, read(body), settings)


def _answered(
    handler: Callable[[AdmissionRequest, Settings], AdmissionAnswer],
    request: AdmissionRequest,
    settings: Settings,
) -> AdmissionAnswer:
    """Call the handler. Objects that are nested too deep, or have integers over 64 bits, are `Malformed`.

    orjson writes 254 levels, and Python allows a thousand nested calls.
    """
    try:
        return handler(request, settings)
    except (RecursionError, orjson.JSONEncodeError) as error:
        if isinstance(error, RecursionError) or "Recursion" in str(error):
            raise Malformed("nested too deep") from error
        if "64-bit" in str(error):
            raise Malformed("a whole number has more than 64 bits") from error
        raise


def _mutated(
    request: AdmissionRequest, settings: Settings, *, templates: Templates | None
) -> AdmissionAnswer:
    live, old = request.live, request.old
    if live is None or at_once(live, old):
        return _unchanged(request)
    if templates is None and BASE_REFS in annotations(live):
        templates = dict.fromkeys(needed(live, old), OFF) or None
    live, old = opened(request)
    made = operations(live, inspect(live, old, templates), settings)
    if not made:
        return _unchanged(request)
    patch = b2a_base64(orjson.dumps(made), newline=False).decode()
    response = {"allowed": True, "patchType": "JSONPatch", "patch": patch}
    return AdmissionAnswer(_answer(request.uid, response | {"auditAnnotations": _audit(made)}), "patched")


def _unchanged(request: AdmissionRequest) -> AdmissionAnswer:
    return AdmissionAnswer(_answer(request.uid, {"allowed": True}), "unchanged")


def _validated(request: AdmissionRequest, settings: Settings) -> AdmissionAnswer:
    live, old = opened(request)
    of_kind = CHECKS.get(text(live.get("kind")), partial(check, dry_run=request.dry_run))
    findings = [] if request.live is None else of_kind(live, old, settings)
    errors = [one for one in findings if one.severity == "error"]
    response: Object = {"allowed": not errors}
    if errors:
        response["status"] = status(errors, request.live or {})
    if len(findings) > len(errors):
        response["warnings"] = list(warnings(findings))
    if request.dry_run and CALLED_FROM in annotations(request.live):
        response["warnings"] = [*response.get("warnings", ()), PEER]
    if findings:
        codes = ",".join(sorted({one.code for one in findings}))
        response["auditAnnotations"] = {"findings": cut(codes, AUDIT_LENGTH)}
    return AdmissionAnswer(_answer(request.uid, response), "denied" if errors else "allowed")


def _audit(operations: Iterable[Operation]) -> dict[str, str]:
    """Return the audit annotation: a digest of the new record, or `withdrawn`, `kept`, or `unfilled`.

    A record without parts only says what became of the templates: the object is not expanded.
    """
    for one in operations:
        if one["path"] == RECORD:
            text = one.get("value", "")
            made = "unfilled" if '"parts":{}' in text else sha256(text.encode()).hexdigest()[:32]
            return {"record": made if text else "withdrawn"}
    return {"record": "kept"}


def status(errors: list[FieldError], live: Object) -> Object:
    """Return the Status of a denial, in the form of the API server's own (reason Invalid, code 422)."""
    metadata = live.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    name = cut(name, NAME_LENGTH) if isinstance(name, str) else ""
    kind = text(live.get("kind"))
    kind = kind if kind in CHECKS else "LeaderWorkerSet"
    causes = [
        {
            "reason": "FieldValueInvalid",
            "field": cut(one.path, CAUSE_LENGTH),
            "message": cut(f"{one.message} ({one.code})", CAUSE_LENGTH),
        }
        for one in errors[:MOST]
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
    found = [one for one in findings if one.severity == "warning"]
    shown = found if len(found) <= WARNINGS_LIMIT else found[: WARNINGS_LIMIT - 1]
    for one in shown:
        yield warning(one)
    if len(shown) < len(found):
        yield f"and {len(found) - len(shown)} more; run: fusioninfer validate -f FILE"


def warning(finding: FieldError) -> str:
    """Return one warning: code, message, and the path if it fits."""
    text = _plain(f"{finding.code}: {finding.message}")
    where = _plain(f" [{finding.path.removeprefix('spec.leaderWorkerTemplate.')}]")
    return cut(text, WARNING_LENGTH) if len(text + where) > WARNING_LENGTH else text + where


def _plain(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if " " <= char <= "~" else "?" for char in text)


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
