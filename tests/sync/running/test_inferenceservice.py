"""The controller and InferenceServices, against a fake API server with our admission in it."""

import copy
from typing import Any, Final

import pytest
from aiohttp import web

from intent import Object
from sync.kinds import LWS
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api, status
from tests.sync.samples import inference_service, lws, role, routed
from tests.sync.served import (
    DECODE,
    HOME,
    OWN_GATEWAY,
    PG,
    PREFILL,
    ROUTES,
    SERVICE,
    change,
    reasons,
    with_gateway,
)

pytestmark = pytest.mark.usefixtures("admission")


def without_version(section: Any) -> Any:
    """Return an object without what every write changes."""
    if not isinstance(section, dict):
        return section
    return {key: value for key, value in section.items() if key != "resourceVersion"}


# --- objects it creates -----------------------------------------------------------------------------


@pytest.mark.usefixtures("served")
def test_roles_get_their_lws_through_admission_and_a_gang_and_all_is_written_once(api: Api) -> None:
    assert "fusioninfer.io/expansion" in api.objects[PREFILL]["metadata"]["annotations"]
    assert api.objects[PG]["spec"]["minMember"] == 2
    written = [path for method, path in api.writes if not path.endswith("/status")]
    assert written == [PREFILL, DECODE, PG, *ROUTES.values()]


# --- objects it leaves alone ------------------------------------------------------------------------


@pytest.mark.usefixtures("served")
async def test_an_idle_controller_sends_no_dry_run_and_a_foreign_annotation_is_no_drift(api: Api) -> None:
    api.requests.clear()
    api.writes.clear()
    await quiet()
    assert [method for method, _ in api.requests if method != "GET"] == []
    metadata = copy.deepcopy(api.objects[ROUTES["Deployment"]]["metadata"])
    metadata["annotations"] = {"deployment.kubernetes.io/revision": "1"}

    change(api, ROUTES["Deployment"], metadata=metadata)
    await quiet()

    assert api.writes == []


def foreign(kind: str, name: str, labels: dict[str, str] | None = None, **fields: Any) -> Object:
    """Return an object that a user made."""
    return {"kind": kind, "metadata": {"namespace": HOME, "name": name, "labels": labels or {}}, **fields}


LABELLED: Final = {"fusioninfer.io/service": "r1"}
FOREIGN: Final = {
    "an LWS": (DECODE, lws("r1-decode", "decoder"), inference_service()),
    "a ConfigMap": (ROUTES["ConfigMap"], foreign("ConfigMap", "r1-epp-config", data={"a": "b"}), routed()),
    "labelled": (
        ROUTES["ConfigMap"],
        foreign("ConfigMap", "r1-epp-config", LABELLED, data={"a": "b"}),
        routed(),
    ),
    "a Gateway": (
        OWN_GATEWAY,
        foreign("Gateway", "r1-gateway", spec={"gatewayClassName": "x"}),
        with_gateway(),
    ),
}


@pytest.mark.parametrize("what", FOREIGN)
async def test_a_foreign_object_is_not_touched_and_a_foreign_gateway_has_no_route(
    api: Api, start: Start, what: str
) -> None:
    path, theirs, service = FOREIGN[what]
    api.put(path, theirs)
    before = copy.deepcopy(api.objects[path])
    api.put(SERVICE, service)

    start()
    await eventually(lambda: bool(api.findings()))

    assert (api.objects[path], reasons(api)) == (before, [("InferenceService", "r1", "ObjectNotOurs")])
    assert path != OWN_GATEWAY or ROUTES["HTTPRoute"] not in api.objects


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("gone", [True, False], ids=["gone", "going"])
async def test_a_deleted_inference_service_is_left_to_the_garbage_collector(api: Api, *, gone: bool) -> None:
    metadata = api.objects[SERVICE]["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    api.writes.clear()

    if gone:
        api.collects = False
        api.remove(SERVICE)
    else:
        change(api, SERVICE, metadata=metadata)
    api.remove(DECODE)
    await quiet()

    assert api.writes == []


@pytest.mark.usefixtures("served")
async def test_an_object_being_deleted_is_awaited(api: Api) -> None:
    metadata = api.objects[DECODE]["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    change(api, DECODE, metadata=metadata)
    await quiet()
    api.writes.clear()

    api.edit(DECODE, replicas=0)
    await quiet()

    assert [path for _, path in api.writes if path == DECODE] == []


# --- repairs and pruning ----------------------------------------------------------------------------


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("kind", "section", "edit"),
    [
        ("ServiceAccount", "metadata", {"ownerReferences": []}),
        ("RoleBinding", "subjects", []),
        ("ConfigMap", "data", {"config.yaml": ""}),
        ("InferencePool", "spec", {"targetPorts": [{"number": 81}]}),
        ("Deployment", "spec", {"replicas": 0}),
        ("Service", "spec", {"ports": []}),
        ("HTTPRoute", "spec", {"rules": []}),
    ],
)
async def test_a_manual_edit_of_a_route_is_reverted(api: Api, kind: str, section: str, edit: Any) -> None:
    before = copy.deepcopy(api.objects[ROUTES[kind]][section])

    change(api, ROUTES[kind], **{section: before | edit if isinstance(edit, dict) else edit})

    await eventually(lambda: without_version(api.objects[ROUTES[kind]][section]) == without_version(before))


@pytest.mark.usefixtures("served")
async def test_lws_deleted_by_hand_are_created_again_and_the_routes_stay(api: Api) -> None:
    api.writes.clear()

    api.remove(PREFILL)
    api.remove(DECODE)
    await eventually(lambda: {PREFILL, DECODE} <= api.objects.keys())
    await quiet()

    assert [path for method, path in api.writes if method == "DELETE" and path != PG] == []


@pytest.mark.usefixtures("served")
async def test_a_renamed_role_gets_a_new_lws_and_loses_the_old_one(api: Api) -> None:
    api.put(SERVICE, routed(role("prefill", "prefiller"), role("decode-a", "decoder")))

    renamed = LWS.path(HOME, "r1-decode-a")
    await eventually(lambda: renamed in api.objects and DECODE not in api.objects)

    assert ("PATCH", PREFILL) not in api.writes[api.writes.index(("DELETE", DECODE)) :]


@pytest.mark.usefixtures("served")
async def test_the_old_lws_stays_while_the_new_name_is_refused(api: Api) -> None:
    def refuse(request: web.Request) -> web.Response | None:
        creates = request.method == "POST" and request.path == LWS.path(HOME)
        return status(403, "Forbidden", "exceeded quota", "r1-decode-a") if creates else None

    api.fault = refuse
    api.put(SERVICE, routed(role("prefill", "prefiller"), role("decode-a", "decoder")))
    await eventually(lambda: bool(api.findings()))

    assert DECODE in api.objects


@pytest.mark.usefixtures("served")
async def test_removing_the_router_deletes_the_routes_only(api: Api) -> None:
    api.writes.clear()

    api.put(SERVICE, inference_service())
    await eventually(lambda: not set(ROUTES.values()) & api.objects.keys())
    await quiet()

    deleted = [path for method, path in api.writes if method == "DELETE"]
    assert deleted == list(reversed(ROUTES.values()))


# --- adoption ---------------------------------------------------------------------------------------


def orphan(api: Api, path: str) -> None:
    """Remove the owners, as the garbage collector does for `--cascade=orphan`."""
    metadata = copy.deepcopy(api.objects[path]["metadata"])
    del metadata["ownerReferences"]
    change(api, path, metadata=metadata)


def orphan_all(api: Api) -> None:
    """Delete the InferenceService, and none of its objects."""
    api.collects = False
    api.remove(SERVICE)
    for path in (PREFILL, DECODE, *ROUTES.values()):
        orphan(api, path)
    api.collects = True


def controllers(api: Api, *paths: str) -> list[str]:
    """Return the uids of the controlling owners of objects."""
    owners = [api.objects[path]["metadata"].get("ownerReferences", []) for path in paths]
    return [owner["uid"] for each in owners for owner in each if owner.get("controller")]


@pytest.mark.usefixtures("served")
async def test_orphans_are_adopted_by_the_next_service_of_the_name(api: Api) -> None:
    kept = (PREFILL, DECODE, PG, *ROUTES.values())
    before = {path: api.objects[path]["metadata"]["uid"] for path in kept}
    orphan_all(api)
    await quiet()

    api.put(SERVICE, routed(uid="uid-again"))
    await eventually(lambda: controllers(api, PREFILL, DECODE, *ROUTES.values()) == ["uid-again"] * 9)

    assert {path: api.objects[path]["metadata"]["uid"] for path in kept} == before
    assert "ObjectNotOurs" not in [reason for _, _, reason in reasons(api)]


@pytest.mark.usefixtures("served")
async def test_an_orphan_whose_spec_was_taken_over_is_not_adopted(api: Api) -> None:
    orphan_all(api)
    metadata = copy.deepcopy(api.objects[DECODE]["metadata"])
    del metadata["managedFields"][0]["fieldsV1"]["f:spec"]
    change(api, DECODE, metadata=metadata)
    await quiet()

    api.put(SERVICE, routed(uid="uid-again"))

    await eventually(lambda: ("InferenceService", "r1", "ObjectNotOurs") in reasons(api))
    assert controllers(api, DECODE) == []


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("gone", [True, False], ids=["gone", "going"])
async def test_nothing_is_adopted_for_a_service_that_is_being_deleted(api: Api, *, gone: bool) -> None:
    there = api.objects[SERVICE]
    going = there["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}

    def fresh(request: web.Request) -> web.Response | None:
        if (request.method, request.path) != ("GET", SERVICE):
            return None
        return status(404, "NotFound", name="r1") if gone else web.json_response(there | {"metadata": going})

    api.fault = fresh
    for path in (DECODE, ROUTES["RoleBinding"]):
        orphan(api, path)
    await quiet()

    assert controllers(api, DECODE, ROUTES["RoleBinding"]) == []


@pytest.mark.usefixtures("served")
async def test_an_orphan_of_a_role_that_is_no_longer_desired_stays(api: Api) -> None:
    orphan_all(api)
    await quiet()

    api.put(SERVICE, routed(role("prefill", "prefiller"), role("decode-a", "decoder"), uid="uid-again"))
    await quiet()

    assert DECODE in api.objects


# --- a Gateway of its own ---------------------------------------------------------------------------


async def test_a_router_with_a_gateway_has_it_and_a_route_on_it_as_long_as_it_wants_it(
    api: Api, start: Start
) -> None:
    api.put(SERVICE, with_gateway())

    start()
    await eventually(lambda: {OWN_GATEWAY, ROUTES["HTTPRoute"]} <= api.objects.keys())

    parents = api.objects[ROUTES["HTTPRoute"]]["spec"]["parentRefs"]
    assert (api.objects[OWN_GATEWAY]["spec"]["gatewayClassName"], parents) == (
        "istio",
        [{"name": "r1-gateway"}],
    )

    api.put(SERVICE, routed())

    await eventually(lambda: OWN_GATEWAY not in api.objects)
