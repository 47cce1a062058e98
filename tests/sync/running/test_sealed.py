"""A rendered LeaderWorkerSet is stored only if admission answers for that very write."""

import copy
from typing import Any

import pytest
from aiohttp import web

from intent.annotations import UNANSWERED
from kube.client import ApiError
from sync import state as state_module
from sync.decide import lasting
from sync.kinds import LWS
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import role, routed
from tests.sync.served import DECODE, PREFILL, SERVICE, admit, annotate, change, condition, reasons

pytestmark = pytest.mark.usefixtures("admission")
INJECT = "fusioninfer.io/inject"
CHANGED = routed(role("prefill", "prefiller"), role("decode", "decoder", replicas=3), generation=2)


def spec(api: Api) -> Any:
    return copy.deepcopy(api.objects[DECODE]["spec"])


@pytest.mark.usefixtures("served")
async def test_admission_that_fails_between_dry_run_and_write_stores_nothing(api: Api) -> None:
    before = spec(api)

    def prunable(request: web.Request) -> None:
        if request.path == DECODE and request.method == "PATCH":
            api.prune = admit if "dryRun" in request.query else lambda _obj: None

    api.fault = prunable
    api.put(SERVICE, CHANGED)
    await eventually(lambda: ("InferenceService", "r1", "NotExpanded") in reasons(api))

    assert spec(api) == before
    assert UNANSWERED not in str(api.objects[DECODE])


@pytest.mark.usefixtures("served")
async def test_a_new_leader_without_admission_changes_nothing_and_retries(
    api: Api, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "RETRY_REFUSED", 0.2)
    before = spec(api)
    api.prune = lambda _obj: None

    start()
    api.put(SERVICE, CHANGED)
    await eventually(lambda: ("InferenceService", "r1", "NotExpanded") in reasons(api))
    held = spec(api) == before
    api.prune = admit

    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] == 3)
    assert held


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("where", [DECODE, SERVICE], ids=["set", "service"])
async def test_inject_disabled_leaves_an_lws_as_it_is_and_is_reported(api: Api, where: str) -> None:
    annotate(api, where, "inject", "disabled")
    before = api.objects[DECODE]["spec"]
    await quiet()
    api.requests.clear()

    changed = copy.deepcopy(CHANGED)
    changed["metadata"]["annotations"] = api.objects[SERVICE]["metadata"].get("annotations", {})
    api.put(SERVICE, changed)
    await eventually(lambda: ("InferenceService", "r1", "AdmissionDisabled") in reasons(api))
    await quiet()

    assert api.objects[DECODE]["spec"] == before
    assert "FI874" in condition(api, "Failed")["message"]
    assert [method for method, path in api.requests if path == DECODE and method != "GET"] == []


@pytest.mark.usefixtures("served")
async def test_the_change_is_applied_once_the_annotation_is_removed(api: Api) -> None:
    annotate(api, DECODE, "inject", "disabled")
    api.put(SERVICE, CHANGED)
    await eventually(lambda: ("InferenceService", "r1", "AdmissionDisabled") in reasons(api))
    metadata = copy.deepcopy(api.objects[DECODE]["metadata"])
    del metadata["annotations"][INJECT]

    change(api, DECODE, metadata=metadata)

    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] == 3)


async def test_a_missing_lws_is_not_made_while_admission_would_not_expand_it(api: Api, start: Start) -> None:
    api.put(SERVICE, routed(annotations={INJECT: "disabled"}))

    start()
    await eventually(lambda: ("InferenceService", "r1", "AdmissionDisabled") in reasons(api))

    assert not {PREFILL, DECODE} & api.objects.keys()


def test_the_reason_that_admission_wrote_is_the_reason_of_the_refusal() -> None:
    said = (
        'metadata.labels: Invalid value: "not expanded: FI951: InferenceTemplate base is gone": a valid label'
    )
    error = ApiError(422, {"reason": "Invalid", "message": said})

    refusal = lasting(LWS, "r1-worker", error)

    assert refusal is not None
    assert refusal.message == "LeaderWorkerSet r1-worker is refused: FI951: InferenceTemplate base is gone"
