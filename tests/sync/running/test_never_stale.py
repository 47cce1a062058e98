"""A status is of the generation that it names, whatever else fails."""

import asyncio
import copy
from collections.abc import MutableMapping
from typing import Any

import orjson
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from intent import Object
from sync.kinds import POD
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, Fault, status
from tests.sync.samples import inference_service, role, routed
from tests.sync.served import (
    DECODE,
    HOME,
    PREFILL,
    ROUTES,
    SERVICE,
    STATUS,
    change,
    ready_pod,
    reported,
)

pytestmark = pytest.mark.usefixtures("admission")


def asking(replicas: int, generation: int) -> Object:
    """Set the replicas of the prefill and decode roles."""
    engines = (role("prefill", "prefiller", replicas=replicas), role("decode", "decoder", replicas=replicas))
    return routed(*engines, generation=generation)


@pytest.mark.usefixtures("served")
async def test_a_reconcile_that_a_change_overtakes_does_not_report_the_change(api: Api) -> None:
    """The third generation comes while the second is applied: no status reports the third as complete."""
    said: list[tuple[int, int]] = []

    async def note(request: web.Request) -> None:
        body = orjson.loads(await request.read())
        settled = not any(one["reason"] == "Applying" for one in body["status"]["conditions"])
        if settled:
            stored = api.objects[DECODE]["spec"]["replicas"]
            said.append((body["status"]["observedGeneration"], stored))

    def overtake(request: web.Request) -> web.Response | None:
        if request.method == "PATCH" and request.path == STATUS:
            asyncio.get_running_loop().create_task(note(request))
        dry_run = "dryRun" in request.query
        if (request.method, request.path, dry_run) == ("PATCH", PREFILL, False) and not overtaken:
            overtaken.append(True)
            change(api, SERVICE, **{key: asking(3, 3)[key] for key in ("metadata", "spec")})
        return None

    overtaken: list[bool] = []
    api.fault, api.latency = overtake, 0.02
    change(api, SERVICE, **{key: asking(2, 2)[key] for key in ("metadata", "spec")})
    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] == 3)
    await quiet(2)

    assert [(generation, stored) for generation, stored in said if stored < generation] == []
    assert overtaken


def refusing(method: str, part: str, code: int = 403, reason: str = "Forbidden") -> Fault:
    """Refuse all requests of a method to paths that contain a part."""

    def refuse(request: web.Request) -> web.Response | None:
        refused = request.method == method and part in request.path
        return status(code, reason, f"no {part} today", "x") if refused else None

    return refuse


@pytest.mark.usefixtures("served")
async def test_a_refused_deletion_blocks_neither_the_status_nor_another_one(api: Api) -> None:
    api.fault = refusing("DELETE", "httproutes")
    without = copy.deepcopy(asking(1, 2))
    without["spec"]["roles"].pop()

    change(api, SERVICE, metadata=without["metadata"], spec=without["spec"])

    await eventually(lambda: api.objects[SERVICE]["status"]["observedGeneration"] == 2)
    assert reported(api, "RoutesReady") == "NoRoutesWanted"
    await eventually(lambda: ROUTES["ServiceAccount"] not in api.objects)
    assert ROUTES["HTTPRoute"] in api.objects


@pytest.mark.usefixtures("served")
async def test_each_error_of_a_reconcile_is_logged(api: Api) -> None:
    routes, accounts = refusing("DELETE", "httproutes"), refusing("DELETE", "serviceaccounts", 422, "Invalid")
    api.fault = lambda request: routes(request) or accounts(request)
    without = asking(1, 2)
    without["spec"]["roles"].pop()

    with capture_logs() as logged:
        change(api, SERVICE, metadata=without["metadata"], spec=without["spec"])
        await eventually(lambda: {"ApiError: 403 Forbidden", "ApiError: 422 Invalid"} <= errors(logged))


def errors(logged: list[MutableMapping[str, Any]]) -> set[str]:
    """Return the errors of reconciles, as they are logged."""
    return {one["error"] for one in logged if one["event"] == "reconcile failed: will retry"}


# --- crossed writes ---------------------------------------------------------------------------------


def crossing(api: Api, method: str, path: str, times: int = 1) -> list[str]:
    """Let another client write an object just before our next writes to it arrive; return the crossed."""
    crossed = list[str]()

    def cross(request: web.Request) -> None:
        is_write = (request.method, request.path) == (method, path) and "dryRun" not in request.query
        if is_write and len(crossed) < times:
            crossed.append(path)
            change(api, path, status={"seen": len(crossed)})

    api.fault = cross
    return crossed


async def test_a_ready_service_stays_ready_where_a_write_is_crossed(api: Api, start: Start) -> None:
    """Otherwise `Ready` would be `Unknown` until the write is made again, and `kubectl wait` would fail."""
    api.put(SERVICE, inference_service(role("decode")))
    api.put(POD.path(HOME, "r1-decode-0"), ready_pod("r1-decode"))
    start()
    await eventually(lambda: reported(api, "Ready") == "ServiceReady")
    await quiet()
    crossed, versions = crossing(api, "PATCH", DECODE), len(api.history)

    api.edit(DECODE, replicas=7)

    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] == 1)
    await quiet()
    stored = [obj["status"] for _, obj in api.history[versions:] if obj["kind"] == "InferenceService"]
    assert (crossed, stored) == ([DECODE], [])


@pytest.mark.usefixtures("served")
async def test_a_crossed_deletion_is_made_again_and_is_no_finding(api: Api) -> None:
    crossed = crossing(api, "DELETE", ROUTES["HTTPRoute"], times=6)
    without = asking(1, 2)
    without["spec"]["roles"].pop()

    change(api, SERVICE, metadata=without["metadata"], spec=without["spec"])

    await eventually(lambda: ROUTES["HTTPRoute"] not in api.objects)
    await quiet()
    assert (len(crossed), api.findings()) == (6, [])
