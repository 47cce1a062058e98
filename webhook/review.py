"""AdmissionReview bytes in, AdmissionReview bytes out (`k8s.io/api` `admission/v1/types.go`). Pure.

/mutate never denies and never warns; what it cannot read it returns unchanged. /validate sees the final
object and says everything at once: all causes, all warnings. What was decided goes into the API server's
audit log too, as `<name of the webhook>/record` and `<name of the webhook>/findings`.
"""

from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

import orjson

from intent import Object
from intent.annotations import EXPANSION
from intent.errors import FieldError
from intent.inferenceservice.read import KIND
from intent.settings import Settings
from webhook import inferenceservice
from webhook.check import check
from webhook.expand import DEFAULTS, expand
from webhook.overlay import record as records
from webhook.overlay.patch import Operation
from webhook.request import VERSION, AdmissionRequest, Malformed, opened, read
from webhook.study import nothing_to_do

Outcome = Literal["unchanged", "patched", "allowed", "denied"]

MESSAGE_LIMIT: Final = 4096
"""Bytes of a denial; the API server passes on more, terminals and events do not."""
MOST: Final = 256
"""Errors of a denial that are written; fewer have room."""
WARNINGS_LIMIT: Final = 20
WARNING_LENGTH: Final = 120
"""A client may cut longer ones (`k8s.io/api` `admission/v1/types.go`, `Warnings`)."""
AUDIT_LENGTH: Final = 256
"""Bytes of an audit annotation."""
RECORD: Final = "/metadata/annotations/" + EXPANSION.replace("/", "~1")


class AdmissionAnswer(NamedTuple):
    """The body of the answer, and what it says, for the metrics."""

    body: bytes
    outcome: Outcome


def mutate(body: bytes, settings: Settings = DEFAULTS) -> AdmissionAnswer:
    """Answer /mutate: a patch, or nothing."""
    return _held(_mutated, read(body), settings)


def validate(body: bytes, settings: Settings = DEFAULTS) -> AdmissionAnswer:
    """Answer /validate: every error, or none, and the warnings."""
    return _held(_validated, read(body), settings)


def _held(
    door: Callable[[AdmissionRequest, Settings], AdmissionAnswer],
    request: AdmissionRequest,
    settings: Settings,
) -> AdmissionAnswer:
    """Answer; what is nested too deep for that is no object of Kubernetes, and no bug of ours.

    orjson writes 254 levels, and Python calls a thousand functions within each other.
    """
    try:
        return door(request, settings)
    except (RecursionError, orjson.JSONEncodeError) as error:
        if isinstance(error, RecursionError) or "Recursion" in str(error):
            raise Malformed("nested too deep") from error
        if "64-bit" in str(error):
            raise Malformed("a whole number has more than 64 bits") from error
        raise


def _mutated(request: AdmissionRequest, settings: Settings) -> AdmissionAnswer:
    operations = _operations(request, settings)
    if not operations:
        return AdmissionAnswer(_answer(request.uid, {"allowed": True}), "unchanged")
    patch = b2a_base64(orjson.dumps(operations), newline=False).decode()
    response = {"allowed": True, "patchType": "JSONPatch", "patch": patch}
    return AdmissionAnswer(
        _answer(request.uid, response | {"auditAnnotations": _audit(operations)}), "patched"
    )


def _operations(request: AdmissionRequest, settings: Settings) -> list[Operation]:
    if request.live is None or nothing_to_do(request.live, request.old):
        return []
    return expand(*opened(request), settings)


def _validated(request: AdmissionRequest, settings: Settings) -> AdmissionAnswer:
    findings = [] if request.live is None else _check(*opened(request), settings)
    errors = [one for one in findings if one.severity == "error"]
    response: Object = {"allowed": not errors}
    if errors:
        response["status"] = status(errors, request.live or {})
    if len(findings) > len(errors):
        response["warnings"] = list(warnings(findings))
    if findings:
        response["auditAnnotations"] = {"findings": _codes(findings)}
    return AdmissionAnswer(_answer(request.uid, response), "denied" if errors else "allowed")


def _check(live: Object, old: Object | None, settings: Settings) -> list[FieldError]:
    if live.get("kind") == KIND:
        return inferenceservice.check(live, old, settings)
    return check(live, old, settings)


def _audit(operations: Iterable[Operation]) -> dict[str, str]:
    """Say for the audit log what became of the record: the digest of what the object was made from."""
    for one in operations:
        if one["path"] == RECORD:
            return {"record": records.digest_of(one["value"]) if "value" in one else "withdrawn"}
    return {"record": "kept"}


def _codes(findings: Iterable[FieldError]) -> str:
    """Say for the audit log what was found: the codes, each once."""
    return cut(",".join(sorted({one.code for one in findings})), AUDIT_LENGTH)


def status(errors: list[FieldError], live: Object) -> Object:
    """Make the Status of a denial, as the API server makes its own (reason Invalid, code 422)."""
    metadata = live.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    kind = KIND if live.get("kind") == KIND else "LeaderWorkerSet"
    causes = (
        {"reason": "FieldValueInvalid", "field": one.path, "message": cut(f"{one.message} ({one.code})", 512)}
        for one in errors[:MOST]
    )
    return {
        "code": 422,
        "reason": "Invalid",
        "status": "Failure",
        "message": cut("; ".join(map(str, errors[:MOST])), MESSAGE_LIMIT),
        "details": {"kind": kind, "name": name or "", "causes": list(_bounded(causes))},
    }


def _bounded(causes: Iterable[Object]) -> Iterator[Object]:
    """Keep the causes that fit, so that a hostile object makes no large answer."""
    left = MESSAGE_LIMIT
    for cause in causes:
        left -= len(orjson.dumps(cause))
        if left < 0:
            return
        yield cause


def warnings(findings: list[FieldError]) -> Iterator[str]:
    """Write the warnings: plain ASCII, one line each; the last one counts those left out."""
    told = [one for one in findings if one.severity == "warning"]
    shown = told if len(told) <= WARNINGS_LIMIT else told[: WARNINGS_LIMIT - 1]
    for one in shown:
        yield warning(one)
    if len(shown) < len(told):
        yield f"and {len(told) - len(shown)} more; run: fusioninfer validate -f FILE"


def warning(finding: FieldError) -> str:
    """Write one warning: code, what to know, and where, as far as there is room."""
    text = _plain(f"{finding.code}: {finding.message}")
    where = _plain(f" [{finding.path.removeprefix('spec.leaderWorkerTemplate.')}]")
    return cut(text, WARNING_LENGTH) if len(text + where) > WARNING_LENGTH else text + where


def _plain(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if " " <= char <= "~" else "?" for char in text)


def cut(text: str, limit: int) -> str:
    """Shorten a text to a number of bytes."""
    if len(text) <= limit and text.isascii():
        return text
    encoded = text.encode("utf-8", "replace")
    return text if len(encoded) <= limit else encoded[: limit - 3].decode("utf-8", "ignore") + "..."


def _answer(uid: str, response: Any) -> bytes:
    return orjson.dumps(
        {"apiVersion": VERSION, "kind": "AdmissionReview", "response": {"uid": uid, **response}}
    )
