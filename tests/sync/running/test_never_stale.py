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
from tests.sync.conftest import eventually, quiet
from tests.sync.fake_api import Api, Fault, status
from tests.sync.samples import role, routed
from tests.sync.served import DECODE, PREFILL, ROUTES, SERVICE, STATUS, change, reported

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
