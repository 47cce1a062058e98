"""The protocol of admission webhooks: behaviours 1 to 18, and 97."""

import gzip
import re
from typing import Any

import jsonpatch
import orjson
import pytest

from tests.builders.lws import changed, lws, put
from tests.builders.reviews import review
from tests.builders.wire import ask, connected, exchange, post, read, request
from tests.hostile.objects import FILES
from tests.hostile.server import PRODUCTION, Server
from webhook.mutate import WRITABLE

PLAIN = changed(lws(), "metadata.annotations", {})
LIMIT = PRODUCTION.body_bytes
WRONG = lws(component_type="x", roles="a,a", launcher="torchrun")


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_01_an_object_without_our_annotations_is_allowed_without_a_patch(server: Server, path: str) -> None:
    response = server.response(review(PLAIN), path)

    assert set(response) == {"uid", "allowed"}
    assert response["allowed"] is True


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
@pytest.mark.parametrize("version", ["admission.k8s.io/v1beta1", "admission.k8s.io/v2", "", None, 1])
def test_02_another_version_is_refused_with_its_reason(server: Server, path: str, version: Any) -> None:
    reply = server.send(orjson.dumps(review(lws()) | {"apiVersion": version}), path)

    assert (reply.status, b"admission.k8s.io/v1" in reply.body) == (400, True)


@pytest.mark.parametrize("live", [PLAIN, lws(), put(lws()), WRONG])
def test_03_patch_and_patch_type_are_present_together(server: Server, live: Any) -> None:
    response = server.response(review(live))

    assert ("patch" in response) == ("patchType" in response)
    assert not {"patch", "patchType"} & set(server.validated(live))


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
@pytest.mark.parametrize(
    "sent",
    [
        {"apiVersion": "admission.k8s.io/v1"},
        {"apiVersion": "admission.k8s.io/v1", "request": None},
        review(None),
        review(lws(), uid=None),
        review(lws(), uid=""),
        review(lws(), operation=None),
        [],
        None,
    ],
)
def test_04_an_incomplete_review_is_refused_without_a_traceback(server: Server, path: str, sent: Any) -> None:
    reply = server.send(orjson.dumps(sent), path)

    assert (reply.status, b"Traceback" in reply.body, server.is_alive()) == (400, False, True)


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_05_other_operations_are_allowed_without_a_patch(server: Server, path: str, operation: str) -> None:
    response = server.response(review(None, lws(), operation=operation), path)

    assert response == {"uid": response["uid"], "allowed": True}


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/yaml", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ],
)
def test_06_only_json_is_accepted(server: Server, kind: str, status: int) -> None:
    reply = server.send(orjson.dumps(review(PLAIN)), Content_Type=kind)

    assert reply.status == status


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mutate", 405),
        ("PUT", "/validate", 405),
        ("OPTIONS", "*", 404),
        ("TRACE", "/mutate", 405),
        ("POST", "/", 404),
        ("POST", "/mutate/../metrics", 404),
        ("POST", "//mutate", 404),
        ("POST", "/%6dutate%00", 404),
    ],
)
async def test_07_other_methods_and_paths_are_refused_and_not_counted(
    server: Server, method: str, path: str, status: int
) -> None:
    before = admissions(server)

    reply = await exchange(server.port, request(method, path, b"{}"), server.tls)

    assert (reply.status, admissions(server)) == (status, before)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity", "GZIP, gzip"])
def test_08_an_encoded_body_is_refused(server: Server, encoding: str) -> None:
    reply = server.send(gzip.compress(orjson.dumps(review(PLAIN))), Content_Encoding=encoding)

    assert reply.status == 415


async def test_08_a_compressed_body_is_never_decoded(fresh: Server) -> None:
    bomb = gzip.compress(bytes(100_000_000))
    fresh.send(b"{}")
    before = fresh.memory("VmHWM")

    reply = await ask(fresh.port, fresh.tls, bomb, Content_Encoding="gzip")

    assert (reply.status, fresh.memory("VmHWM") - before < 2_000_000) == (415, True)


def test_09_a_body_of_7_mib_less_one_byte_is_accepted(server: Server) -> None:
    assert server.send(padded(LIMIT - 1)).status == 200


async def test_09_one_byte_more_is_refused_before_the_body_is_sent(server: Server) -> None:
    reply = await ask(server.port, server.tls, b"", Content_Length=str(LIMIT + 1))

    assert (reply.status, reply.headers["connection"]) == (413, "close")


async def test_10_a_chunked_body_is_refused_as_soon_as_it_is_too_large(fresh: Server) -> None:
    fresh.send(b"{}")
    before = fresh.memory("VmHWM")
    async with connected(fresh.port, fresh.tls) as (reader, writer):
        writer.write(post("/mutate", Content_Length="", Transfer_Encoding="chunked").removesuffix(b"{}"))
        for _ in range(LIMIT // 2**20 + 1):
            writer.write(b"100000\r\n" + bytes(2**20) + b"\r\n")
        reply = await read(reader)

    assert (reply.status, fresh.memory("VmHWM") - before < 2 * LIMIT) == (413, True)


@pytest.mark.parametrize("file", FILES[::9])
def test_11_the_patch_has_the_result_of_the_golden_file(server: Server, file: Any) -> None:
    assert server.admit(file) == put(file)


def test_12_a_patch_applies_and_writes_only_permitted_fields(server: Server) -> None:
    for live in (*FILES, *map(put, FILES)):
        operations = server.operations(live)

        jsonpatch.apply_patch(live, operations)
        assert {one["op"] for one in operations} <= {"add", "replace", "remove"}
        assert [one["path"] for one in operations if not is_ours(one["path"])] == []


def test_13_generate_name_is_accepted(server: Server) -> None:
    unnamed = changed(changed(lws(), "metadata.name", None), "metadata.generateName", "llm-")

    once = server.admit(unnamed)

    assert server.validated(once)["allowed"] is True


def test_13_a_missing_namespace_is_accepted(server: Server) -> None:
    response = server.response(review(lws(), namespace=None))

    assert "patch" in response


def test_14_a_denial_lists_every_cause_with_its_field(server: Server) -> None:
    status = server.validated(WRONG)["status"]

    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in status["details"]["causes"]] == [
        f"metadata.annotations[fusioninfer.io/{key}]" for key in ("component-type", "roles", "launcher")
    ]
    assert not status["message"].startswith("admission webhook")


def test_14_a_denial_is_at_most_4_kib(server: Server) -> None:
    many = {f"fusioninfer.io/{'é' * 90}-{at}": "x" * 900 for at in range(200)}

    status = server.validated(changed(lws(), "metadata.annotations", many))["status"]

    assert len(status["message"].encode()) <= 4096
    assert len(orjson.dumps(status["details"]["causes"])) <= 4096 + 50


def test_15_warnings_are_ascii_short_and_few(server: Server) -> None:
    odd: Any = {f"k{at}\r\n": "é" for at in range(50)}
    hostile = lws(service="svc\n\x1b[31m", launcher="\u202e" * 500, **odd)

    for live in (*map(put, FILES), hostile):
        warnings = server.validated(live, live).get("warnings", [])

        assert len(warnings) <= 20
        assert all(re.fullmatch(r"[ -~]{1,200}", one) for one in warnings)


@pytest.mark.parametrize(
    ("path", "live"), [("/mutate", lws()), ("/validate", WRONG), ("/validate", put(lws(size=4)))]
)
def test_16_audit_annotations_have_valid_keys_and_values(server: Server, path: str, live: Any) -> None:
    annotations = server.response(review(live), path)["auditAnnotations"]

    assert annotations
    assert all(re.fullmatch(r"[a-z]([-a-z0-9.]{0,61}[a-z0-9])?", key) for key in annotations)
    assert all(isinstance(value, str) and 0 < len(value.encode()) <= 256 for value in annotations.values())


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
@pytest.mark.parametrize("name", ["status", "scale"])
def test_17_a_subresource_is_not_changed(server: Server, path: str, name: str) -> None:
    response = server.response(review(WRONG, subResource=name), path)

    assert response == {"uid": response["uid"], "allowed": True}


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_18_an_object_that_is_being_deleted_is_not_changed(server: Server, path: str) -> None:
    leaving = changed(WRONG, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z")

    response = server.response(review(leaving, leaving), path)

    assert response == {"uid": response["uid"], "allowed": True}


def test_97_each_request_increments_one_outcome(server: Server) -> None:
    before = server.samples()
    sent = [
        ("/mutate", orjson.dumps(review(PLAIN))),
        ("/mutate", orjson.dumps(review(lws()))),
        ("/validate", orjson.dumps(review(WRONG))),
        ("/validate", orjson.dumps(review(PLAIN))),
        ("/validate", b"{"),
    ]
    for path, body in sent:
        server.send(body, path)

    added = {
        re.sub(r'.*outcome="(\w+)",path="/(\w+)".*', r"\2 \1", name): value - before[name]
        for name, value in server.samples().items()
        if name.startswith("fusioninfer_admission_requests_total") and value != before[name]
    }
    assert added == {
        "mutate unchanged": 1,
        "mutate patched": 1,
        "validate denied": 1,
        "validate allowed": 1,
        "validate malformed": 1,
    }


def admissions(server: Server) -> float:
    """Return the number of admission requests."""
    samples = server.samples().items()
    return sum(value for name, value in samples if name.startswith("fusioninfer_admission_requests_total"))


def padded(size: int) -> bytes:
    """Return a review of `size` bytes."""
    body = orjson.dumps(review(changed(PLAIN, "metadata.annotations", {"padding": "@"})))
    return body.replace(b"@", b"x" * (size - len(body) + 1))


def is_ours(path: str) -> bool:
    """Return whether mutators may write a path, or it is a container's empty list that is removed."""
    if path == "/metadata/annotations/fusioninfer.io~1expansion":
        return True
    allowed: Any = WRITABLE
    for part in path.split("/")[1:]:
        if part.isdigit() or part == "-":
            continue
        if allowed is None:
            return True
        key = part.replace("~1", "/").replace("~0", "~")
        if key not in allowed:
            return False
        allowed = allowed[key]
    return True
