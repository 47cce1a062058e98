"""Events about what the controller does: objects created, changed and deleted, the gate, undone changes."""

import copy

import pytest

from intent import Object
from sync.controller import Controller
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import inference_service, lws, role, routed
from tests.sync.served import DECODE, PG, PREFILL, ROUTES, SERVICE, change, ready_pod, told

ROUTE = ROUTES["HTTPRoute"]


def events(api: Api, reason: str) -> list[Object]:
    return [one for one in api.kept("events") if one["reason"] == reason]


# --- what it does -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("served")
def test_a_new_service_is_told_what_was_made(api: Api) -> None:
    assert told(api, "Created") == ["created LeaderWorkerSet r1-prefill, LeaderWorkerSet r1-decode"]
    assert told(api, "GangOpened") == ["created PodGroup r1"]
    (routes,) = told(api, "RoutesCreated")
    assert routes.startswith("created ServiceAccount r1-epp, ")
    assert routes.endswith(", HTTPRoute r1-httproute")
    assert {(one["reason"], one["type"]) for one in api.kept("events")} == {
        ("Created", "Normal"),
        ("GangOpened", "Normal"),
        ("RoutesCreated", "Normal"),
    }


async def test_members_of_an_author_are_told_that_the_gate_opened(api: Api, start: Start) -> None:
    api.put(PREFILL, lws("r1-prefill"))
    api.put(DECODE, lws("r1-decode", "decoder"))

    start()

    await eventually(lambda: len(told(api, "GangOpened", "LeaderWorkerSet")) == 2)


@pytest.mark.usefixtures("served")
async def test_a_changed_request_is_told(api: Api) -> None:
    api.put(
        SERVICE, routed(role("prefill", "prefiller"), role("decode", "decoder", replicas=2), generation=2)
    )

    await eventually(lambda: told(api, "Updated") == ["changed LeaderWorkerSet r1-decode"])


@pytest.mark.usefixtures("served")
async def test_what_is_no_longer_desired_is_told(api: Api) -> None:
    change(api, SERVICE, spec=inference_service()["spec"])

    await eventually(lambda: bool(told(api, "Deleted")))
    (message,) = told(api, "Deleted")
    assert message.startswith("deleted HTTPRoute r1-httproute, ")
    assert message.endswith(", ServiceAccount r1-epp")


@pytest.mark.usefixtures("admission")
async def test_a_service_that_becomes_ready_and_unready_is_told(api: Api, start: Start) -> None:
    api.put(SERVICE, inference_service(role("decode")))
    start()
    await eventually(lambda: DECODE in api.objects)
    pod = f"/api/v1/namespaces/team-a/pods/{ready_pod('r1-decode')['metadata']['name']}"

    api.put(pod, ready_pod("r1-decode"))
    await eventually(lambda: told(api, "ServiceReady") == ["role decode has 1 of 1 replica ready"])
    api.remove(pod)
    await eventually(lambda: bool(told(api, "ServiceNotReady")))

    assert [one["type"] for one in events(api, "ServiceNotReady")] == ["Warning"]


@pytest.mark.usefixtures("served")
async def test_a_new_leader_tells_nothing_again(api: Api, served: Controller, start: Start) -> None:
    before = len(api.kept("events"))

    other = start()
    await eventually(lambda: other.states.keys() == served.states.keys())
    await quiet()

    assert len(api.kept("events")) == before


# --- what it undoes ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("served")
async def test_an_undone_change_names_the_object_and_where_to_change_it(api: Api) -> None:
    api.edit(PG, minMember=7)

    await eventually(lambda: len(events(api, "ChangeReverted")) == 2)
    message = (
        "PodGroup r1 was changed by another client, and the change was undone; "
        'change InferenceService r1 instead, or set fusioninfer.io/paused: "true" there first'
    )
    assert told(api, "ChangeReverted") == told(api, "ChangeReverted", "PodGroup") == [message]
    assert {one["type"] for one in events(api, "ChangeReverted")} == {"Warning"}


@pytest.mark.usefixtures("served")
async def test_a_deleted_object_that_is_made_again_is_told(api: Api) -> None:
    api.remove(ROUTE)

    await eventually(lambda: bool(told(api, "ChangeReverted")))
    assert told(api, "ChangeReverted")[0].startswith(
        "HTTPRoute r1-httproute was deleted by another client, and was created again; change "
    )


@pytest.mark.usefixtures("served")
async def test_routes_that_come_back_are_no_undone_change(api: Api) -> None:
    whole = copy.deepcopy(api.objects[SERVICE])

    change(api, SERVICE, spec=inference_service()["spec"])
    await eventually(lambda: ROUTE not in api.objects)
    api.put(SERVICE, whole)
    await eventually(lambda: ROUTE in api.objects)
    await eventually(lambda: [one["count"] for one in events(api, "RoutesCreated")] == [1])
    await quiet()

    assert events(api, "ChangeReverted") == []
