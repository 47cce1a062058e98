"""Bodies that attack a parser, a log or a metrics store."""

import json
import random
import socket
import ssl
from contextlib import suppress
from typing import Any

import orjson
import pytest

from tests.builders.isvc import isvc
from tests.builders.lws import changed, container, lws, put, template
from tests.builders.patience import PATIENCE
from tests.builders.reviews import review
from tests.hostile.server import Server

BOTH = pytest.mark.parametrize("path", ["/mutate", "/validate"])


@BOTH
@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000])
def test_deep_nesting_is_refused_at_once(server: Server, path: str, body: bytes) -> None:
    server.send(body, path)
    before = server.memory()

    reply = server.send(body, path)

    assert (reply.status, b"RecursionError" in reply.body) == (400, False)
    assert server.memory() - before < 2_000_000


@BOTH
@pytest.mark.parametrize(
    "value",
    [
        *(b"9" * 5000, b"-" + b"9" * 5000, b"NaN", b"-Infinity", b"1e400", b"0x10", b"01", b"1."),
        *(
            *(b'"\\ud800"', b'"\\udc00\\ud800"', b'"\xff"', b'"\x00"', b'"\n"', b"'x'", b"None"),
            *(b"{1:2}", b"[1,]"),
        ),
    ],
    ids=str,
)
def test_invalid_json_is_refused(server: Server, path: str, value: bytes) -> None:
    body = orjson.dumps(review(changed(lws(), "spec.replicas", "@"))).replace(b'"@"', value)

    assert server.send(body, path).status == 400


@BOTH
@pytest.mark.parametrize("body", [b"\xef\xbb\xbf%s", b"\xff\xfe%s", b"%s%s", b"%s\x00", b"// x\n%s"], ids=str)
def test_json_with_other_bytes_is_refused(server: Server, path: str, body: bytes) -> None:
    sent = body.replace(b"%s", orjson.dumps(review(lws())))

    assert server.send(sent, path).status == 400


@BOTH
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spec.replicas", b"18446744073709551616"),  # a float for orjson, as for Go
        ("spec.leaderWorkerTemplate.size", b"-9223372036854775809"),
        ("metadata.name", b'"\\u0000"'),
        ("metadata.annotations.note", b'"\\u202e"'),
    ],
)
def test_unusual_json_is_answered(server: Server, path: str, field: str, value: bytes) -> None:
    body = orjson.dumps(review(changed(lws(), field, "@"))).replace(b'"@"', value)

    assert server.send(body, path).status == 200


def test_of_duplicate_keys_the_last_counts(server: Server) -> None:
    body = orjson.dumps(review(lws())).replace(b'"size":2', b'"size":"x","size":2')

    assert b"patchType" in server.send(body).body


def test_an_object_with_many_earlier_errors_is_answered_in_time(server: Server) -> None:
    wrong = {f"fusioninfer.io/{at}": "x" for at in range(20_000)}
    old = changed(isvc(annotations=wrong), "metadata.generation", 1)
    live = changed(changed(old, "metadata.generation", 2), "spec.roles.0.replicas", 4)

    answer = server.response(review(live, old), "/validate")

    assert answer["allowed"] is True


CANARY = "s3cr3t-c4n4ry"


def planted() -> list[tuple[str, bytes]]:
    """Return bodies with a secret in every place, which are allowed, denied, malformed, or cause a bug."""
    env = [{"name": f"TOKEN_{CANARY}", "value": CANARY}, {"name": "X", "value": f"{CANARY}\n\x1b[31m"}]
    secret = lws(worker=template(container(args=["m", "--api-key", CANARY], env=env)))
    named = lws(service=f"svc\n{CANARY}\x1b[31m", launcher=CANARY, expansion=CANARY)
    bug = lws(worker=template(container(env=[{"name": {CANARY: CANARY}}])))
    bodies = [orjson.dumps(review(one, old)) for one in (secret, named, bug) for old in (None, put(secret))]
    bodies += [CANARY.encode(), b'{"uid":"' + CANARY.encode() + b'"', orjson.dumps(review(secret))[:-9]]
    bodies.append(orjson.dumps(review(named, uid=f"{CANARY}\n")))
    return [(path, body) for path in ("/mutate", "/validate") for body in bodies]


def test_no_body_breaks_the_log_or_leaks_into_it(server: Server) -> None:
    for path, body in planted():
        server.send(body, path)
        server.send(body, f"/{CANARY}", Content_Type=CANARY, X_Canary=CANARY)

    assert server.log()  # every line is JSON
    assert CANARY not in (server.directory / "log").read_text()
    assert CANARY not in server.get("/metrics")


def test_no_server_name_breaks_the_log(server: Server) -> None:
    sent, received = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = server.tls.wrap_bio(received, sent, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as raw:
        raw.sendall(sent.read().replace(b"localhost", b"\xff" * 9))
        raw.recv(1)

    server.send(b"{}")
    assert server.log()  # every line is JSON


def test_audit_annotations_contain_no_secret(server: Server) -> None:
    for path, body in planted():
        reply = server.send(body, path)
        if reply.status == 200:
            annotations = orjson.loads(reply.body)["response"].get("auditAnnotations", {})
            assert CANARY not in json.dumps(annotations)


def test_no_request_adds_a_series(server: Server) -> None:
    before = set(server.samples())
    chance = random.Random(7)  # noqa: S311 - names, not keys

    for _ in range(300):
        word = "".join(chance.choices("abcdefghij0123456789-./", k=12))
        ours: Any = {word.replace("-", "_"): word}
        live = lws(service=word, component_type=word, launcher=word, **ours)
        sent = review(changed(live, "metadata.name", word), namespace=word, operation=word)
        server.send(orjson.dumps(sent), f"/{chance.choice(['mutate', 'validate', word])}?timeout={word}")

    assert set(server.samples()) == before
