"""Watched namespaces: what the admins of one do to it does not concern the others."""

import copy
from typing import Final

import pytest
from aiohttp import web

from intent import Object
from intent.settings import Settings
from sync.kinds import INFERENCE_SERVICE, LWS, POD_GROUP
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service

HOMES: Final = ("team-a", "team-b")
SETTINGS: Final = Settings(namespaces=HOMES, api_services=False)


def of(namespace: str) -> Object:
    """Return an InferenceService of a namespace."""
    found = copy.deepcopy(inference_service())
    found["metadata"] |= {"namespace": namespace, "uid": f"uid-{namespace}"}
    return found


@pytest.mark.usefixtures("admission")
async def test_a_namespace_without_permissions_delays_no_service_of_another(api: Api, start: Start) -> None:
    api.put(INFERENCE_SERVICE.path("team-b", "r1"), of("team-b"))
    start(settings=SETTINGS)
    await eventually(lambda: POD_GROUP.path("team-b", "r1") in api.objects)

    def forbidden(request: web.Request) -> web.Response | None:
        return status(403, "Forbidden", "no", "x") if "team-b" in request.path else None

    api.fault = forbidden
    api.drop()
    await quiet(2)
    before = copy.deepcopy(api.objects)
    api.put(INFERENCE_SERVICE.path("team-a", "r1"), of("team-a"))

    await eventually(lambda: POD_GROUP.path("team-a", "r1") in api.objects)
    assert LWS.path("team-a", "r1-prefill") in api.objects
    assert {path: api.objects[path] for path in before} == before
