"""When two objects count as equal, and whose they are."""

import copy
from typing import Any

import pytest

from intent import Object
from sync.kinds import GATEWAYS, HTTP_ROUTE, LWS, OUTPUTS
from sync.stored import Stored, stored
from tests.sync.samples import lws

DEPLOYMENT = OUTPUTS["Deployment"]
OURS = [{"manager": "fusioninfer", "operation": "Apply"}]


def deployment(**metadata: Any) -> Object:
    known = {"namespace": "team-a", "name": "r1-epp", "labels": {"fusioninfer.io/service": "r1"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": known | metadata,
        "spec": {"replicas": 1},
    }


def owned(kind: str = "InferenceService", *, controller: bool = True) -> Object:
    obj = lws()
    reference = {"kind": kind, "name": "r1", "uid": "uid-r1", "controller": controller}
    obj["metadata"]["ownerReferences"] = [reference]
    return obj


@pytest.mark.parametrize(
    "metadata",
    [{"uid": "u"}, {"resourceVersion": "7"}, {"generation": 3}, {"managedFields": OURS}],
)
def test_what_the_api_server_counts_makes_no_difference(metadata: Object) -> None:
    assert stored(deployment(**metadata)).fingerprint == stored(deployment()).fingerprint


def test_a_status_makes_no_difference() -> None:
    assert stored(deployment() | {"status": {"replicas": 1}}).fingerprint == stored(deployment()).fingerprint


def test_whether_a_list_names_the_kind_makes_no_difference() -> None:
    listed = {key: value for key, value in deployment().items() if key not in {"apiVersion", "kind"}}

    assert stored(listed).fingerprint == stored(deployment()).fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"replicas": 2}},
        {"data": {"a": "b"}},
        {"metadata": deployment(annotations={"a": "b"})["metadata"]},
    ],
)
def test_everything_else_makes_a_difference(change: Object) -> None:
    assert stored(deployment() | change).fingerprint != stored(deployment()).fingerprint


def test_what_is_projected_is_not_changed() -> None:
    obj = deployment(managedFields=OURS)
    before = copy.deepcopy(obj)

    stored(obj)

    assert obj == before


def test_what_we_applied_for_a_service_is_ours() -> None:
    row = stored(deployment(managedFields=OURS))

    assert DEPLOYMENT.ours(row, "r1", "")


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"managedFields": [{"manager": "kubectl", "operation": "Apply"}]},
        {"managedFields": [{"manager": "fusioninfer", "operation": "Update"}]},
        {"managedFields": OURS, "labels": {"fusioninfer.io/service": "r2"}},
    ],
)
def test_our_label_alone_makes_nothing_ours(metadata: Object) -> None:
    row = stored(deployment(**metadata))

    assert not DEPLOYMENT.ours(row, "r1", "")


def test_the_lws_of_an_inference_service_is_its_own() -> None:
    row = LWS.project(owned())

    assert LWS.ours(row, "r1", "uid-r1")


@pytest.mark.parametrize(
    "obj",
    [lws(), owned("DisaggregatedSet"), owned(controller=False)],
    ids=["nobody", "another", "no-controller"],
)
def test_the_lws_of_somebody_else_is_not(obj: Object) -> None:
    row = LWS.project(obj)

    assert not LWS.ours(row, "r1", "uid-r1")


def test_without_an_inference_service_no_lws_is_ours() -> None:
    assert not LWS.ours(LWS.project(lws()), "r1", "")


def test_an_lws_without_a_record_is_kept_if_an_inference_service_has_it() -> None:
    obj = owned()
    obj["metadata"]["annotations"] = {}

    assert isinstance(LWS.project(obj), Stored)


def test_a_route_meets_the_gateways_that_it_hangs_on() -> None:
    parents = [
        {"name": "mine"},
        {"namespace": "infra", "name": "shared"},
        {"kind": "Service", "name": "mesh"},
    ]
    obj = deployment() | {"kind": "HTTPRoute", "spec": {"parentRefs": parents}}

    row = HTTP_ROUTE.project(obj)

    assert row.places == (("team-a", "Gateway/mine"), ("infra", "Gateway/shared"))


def test_a_gateway_is_where_routes_meet_it() -> None:
    row = GATEWAYS.project({"metadata": {"namespace": "infra", "name": "shared"}})

    assert GATEWAYS.keys(row) == (("infra", "Gateway/shared"),)


def test_what_we_applied_is_ours_under_another_label_too() -> None:
    row = stored(
        deployment(managedFields=OURS, ownerReferences=[BY_SERVICE], labels={"fusioninfer.io/service": "x"})
    )

    assert DEPLOYMENT.ours(row, "r1", "uid-r1")
    assert not DEPLOYMENT.ours(row, "r1", "uid-other")


# --- what goes when it is not wanted any more -------------------------------------------------------


def part(*references: Object) -> Stored:
    return stored(deployment(managedFields=OURS, ownerReferences=list(references)))


BY_SERVICE = {"kind": "InferenceService", "name": "r1", "uid": "uid-r1", "controller": True}
BY_MEMBER = {"kind": "LeaderWorkerSet", "name": "r1-decode", "uid": "uid-decode"}


@pytest.mark.parametrize("reference", [BY_SERVICE, BY_MEMBER], ids=["service", "member"])
def test_a_part_of_the_routes_goes(reference: Object) -> None:
    assert DEPLOYMENT.goes(part(reference), "uid-r1")


def test_a_part_that_lost_its_owner_stays() -> None:
    assert not DEPLOYMENT.goes(part(), "")


@pytest.mark.parametrize("uid", ["", "uid-other"], ids=["gone", "replaced"])
def test_a_part_of_a_service_that_is_gone_is_left_to_the_garbage_collector(uid: str) -> None:
    assert not DEPLOYMENT.goes(part(BY_SERVICE), uid)
