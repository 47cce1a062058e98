"""No log line has a text of an object, of a caller, or of an answer of the API server."""

import asyncio
import logging
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from io import StringIO
from typing import Any, Final

import orjson
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from intent import Object
from intent.settings import Settings
from kube.client import logged
from server.process import JSON_LINES
from sync.kinds import Kind, watched
from sync.watch.cache import OWNERS, Cache
from tests.hostile.objects import paths, replaced
from tests.sync.conftest import Start, quiet
from tests.sync.fake_api import Api, status
from tests.sync.running.test_controller import DECODE, PREFILL
from tests.sync.samples import lws
from tests.upgrades.stored import APPLIED, stored

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


KINDS: Final = {kind.kind: kind for kind in watched(Settings(templates_namespace="shared"))}


@cache
def of_kind() -> dict[str, Object]:
    """Return a stored object of each kind, and of some kinds none."""
    cases = [case for case in reversed(stored()) if case.state == APPLIED]
    return {one["kind"]: one for case in cases for one in case.objects}


def damaged(whole: Object) -> Iterator[bytes]:
    """Yield objects: a canary in each string or in place of each value, many owners, cut, nested too deep."""
    for at in paths(whole):
        found: Any = whole
        for step in at:
            found = found[step]
        yield orjson.dumps(replaced(whole, at, f"{found}{CANARY}" if isinstance(found, str) else CANARY))
    owned = {"name": CANARY, "namespace": CANARY, "ownerReferences": [{"name": CANARY}] * (OWNERS + 1)}
    yield orjson.dumps(whole | {"metadata": whole["metadata"] | owned})
    line = orjson.dumps(canaries(whole))
    deep = b',"a":' + b"[" * 999 + b"]" * 999 + b"}"
    yield from (line, line[: len(line) // 2], line.replace(b"\\n", b"\n"), line[:-1] + deep)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_a_cache_logs_no_text_of_an_object(kind: Kind[Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    whole = deepcopy(of_kind().get(kind.kind) or lws("p") | {"kind": kind.kind})
    whole["metadata"].pop("managedFields", None)
    cache = Cache(kind)

    with capture_logs() as lines:
        for body in damaged(whole):
            try:
                row = await cache.read(body)
            except ValueError as error:
                logging.getLogger().warning("refused: %s", logged(error))
            else:
                if row is not None:
                    cache.store(row)

    assert lines
    assert is_free(lines, caplog.records)


async def test_no_task_or_callback_that_fails_writes_its_error_or_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails() -> None:
        raise ValueError(CANARY)

    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JSON_LINES)
    monkeypatch.setattr(logging.getLogger("asyncio"), "handlers", [handler])
    task = asyncio.create_task(fails())
    await asyncio.wait([task])
    del task
    asyncio.get_running_loop().call_soon(int, CANARY)
    await asyncio.sleep(0)

    said = [orjson.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert said == ["Task exception was never retrieved", "Exception in callback int"]
    assert "CANARY" not in stream.getvalue()
