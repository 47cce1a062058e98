"""No log line has a text of an object, of a caller, or of an answer of the API server."""

import logging
from typing import Any

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from tests.hostile.objects import paths, replaced
from tests.sync.conftest import Start, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import lws
from tests.sync.test_controller import DECODE, PREFILL

CANARY = "CANARY s3cr3t\n\x9b"


def canaries(whole: Any) -> Any:
    """Return an object of which every string is followed by a canary, but for its identity."""
    kept = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid")}
    for at in list(paths(whole)):
        found: Any = whole
        for step in at:
            found = found[step]
        if isinstance(found, str) and at not in kept and at[-1] != "fusioninfer.io/service":
            whole = replaced(whole, at, found + CANARY)
    return whole


def is_free(lines: Any, records: list[logging.LogRecord]) -> bool:
    """Return whether no line has a canary; there are lines."""
    return "CANARY" not in repr(lines) + repr([one.__dict__ for one in records])


@pytest.mark.parametrize(("method", "code"), [("GET", 500), ("PATCH", 422), ("POST", 403), ("", 0)])
async def test_the_controller_logs_no_text_of_an_object_or_an_answer(
    api: Api, start: Start, caplog: pytest.LogCaptureFixture, method: str, code: int
) -> None:
    caplog.set_level(logging.DEBUG)
    refused: list[str] = []

    def refuse(request: web.Request) -> web.StreamResponse | None:
        if request.method != method or (method == "GET" and len(refused) > 8):
            return None
        refused.append(request.path)
        return status(code, "Forbidden", CANARY)

    with capture_logs() as lines:
        api.put(PREFILL, lws("p"))
        api.put(DECODE, lws("d", "decoder"))
        api.fault = refuse
        start()
        await quiet(2)
        api.put(PREFILL, canaries(lws("p")))
        api.put(DECODE, canaries(lws("d", "decoder")) | {"spec": CANARY})
        await quiet(2)

    assert (bool(refused), bool(lines)) == (bool(method), True)
    assert is_free(lines, caplog.records)
