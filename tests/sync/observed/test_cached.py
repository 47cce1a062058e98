"""When two objects count as equal, and which objects are ours."""

import copy
from typing import Any

import pytest

from intent import Object
from sync.kinds import DEPLOYMENT, GATEWAYS, HTTP_ROUTE, LWS, is_ours
from sync.observed.cached import applied_object, row_keys
from tests.sync.samples import lws

OURS = [{"manager": "fusioninfer", "operation": "Apply", "fieldsV1": {"f:metadata": {}, "f:spec": {}}}]
REPLACED = [OURS[0] | {"fieldsV1": {"f:metadata": {}}}]
"""Other managers have written all of the spec since."""


def deployment(**metadata: Any) -> Object:
    known = {"namespace": "team-a", "name": "r1-epp", "labels": {"fusioninfer.io/service": "r1"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": known | metadata,
        "spec": {"replicas": 1},
    }


@pytest.mark.parametrize(
    "obj",
    [
        *(deployment(**one) for one in ({"uid": "u"}, {"resourceVersion": "7"}, {"generation": 3})),
        deployment(managedFields=OURS),
        deployment() | {"status": {"replicas": 1}},
        {key: value for key, value in deployment().items() if key not in {"apiVersion", "kind"}},
    ],
    ids=["uid", "version", "generation", "managers", "status", "of a list"],
)
def test_fields_set_by_the_api_server_make_no_difference(obj: Object) -> None:
    assert applied_object(obj).fingerprint == applied_object(deployment()).fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"replicas": 2}},
        {"data": {"a": "b"}},
        {"metadata": deployment(annotations={"a": "b"})["metadata"]},
    ],
)
def test_every_other_change_makes_a_difference(change: Object) -> None:
    assert applied_object(deployment() | change).fingerprint != applied_object(deployment()).fingerprint


def test_the_projected_object_is_not_changed() -> None:
    obj = deployment(managedFields=OURS)
    before = copy.deepcopy(obj)

    applied_object(obj)

    assert obj == before


BY_SERVICE = {"kind": "InferenceService", "name": "r1", "uid": "uid-r1", "controller": True}
BY_MEMBER = {"kind": "LeaderWorkerSet", "name": "r1-decode", "uid": "uid-decode"}


@pytest.mark.parametrize("owner", [BY_SERVICE, BY_MEMBER], ids=["service", "member"])
@pytest.mark.parametrize("labels", [{"fusioninfer.io/service": "x"}, {}], ids=["another", "no label"])
def test_what_we_applied_for_an_owner_is_ours_whatever_its_label(owner: Object, labels: Object) -> None:
    row = applied_object(deployment(managedFields=OURS, ownerReferences=[owner], labels=labels))

    assert is_ours(DEPLOYMENT, row, "r1", frozenset({owner["uid"], "uid-more"}))


@pytest.mark.parametrize(
    "metadata",
    [
        {"ownerReferences": [BY_SERVICE]},
        {"ownerReferences": [BY_SERVICE], "managedFields": [{"manager": "kubectl", "operation": "Apply"}]},
        {"ownerReferences": [BY_SERVICE], "managedFields": [OURS[0] | {"operation": "Update"}]},
        {"ownerReferences": [BY_SERVICE], "managedFields": [OURS[0] | {"subresource": "status"}]},
        {"ownerReferences": [BY_SERVICE | {"uid": "uid-other"}], "managedFields": OURS},
        {"ownerReferences": [BY_SERVICE], "managedFields": OURS, "name": "of-another-team"},
        {"managedFields": OURS, "labels": {}},
    ],
    ids=[
        *("not applied", "by another", "updated", "its status", "another owner", "another name"),
        "neither owner nor label",
    ],
)
def test_no_other_object_is_ours(metadata: Object) -> None:
    assert not is_ours(DEPLOYMENT, applied_object(deployment(**metadata)), "r1", frozenset({"uid-r1"}))


def test_what_we_applied_stays_ours_after_others_wrote_all_of_its_spec() -> None:
    row = applied_object(deployment(managedFields=REPLACED, ownerReferences=[BY_SERVICE]))

    assert is_ours(DEPLOYMENT, row, "r1", frozenset({"uid-r1"}))


def test_what_we_applied_without_owners_is_an_orphan_of_the_service_in_its_label() -> None:
    row = applied_object(deployment(managedFields=OURS))
    other = applied_object(deployment(managedFields=OURS, name="of-another-team"))

    assert [is_ours(DEPLOYMENT, one, "r1", frozenset()) for one in (row, other)] == [True, False]
    assert not is_ours(DEPLOYMENT, row, "r2", frozenset())


@pytest.mark.parametrize(
    "metadata",
    [{}, {"managedFields": OURS, "ownerReferences": [BY_SERVICE]}, {"managedFields": REPLACED}],
    ids=["not applied", "owned", "another spec"],
)
def test_no_other_object_is_an_orphan(metadata: Object) -> None:
    assert not is_ours(DEPLOYMENT, applied_object(deployment(**metadata)), "r1", frozenset())


def test_an_lws_without_a_record_is_kept_if_an_inference_service_controls_it() -> None:
    obj = lws()
    obj["metadata"] |= {"annotations": {}, "ownerReferences": [BY_SERVICE]}

    assert LWS.project(obj)


def test_a_route_has_the_index_keys_of_its_gateways() -> None:
    parents = [
        {"name": "mine"},
        {"namespace": "infra", "name": "shared"},
        {"kind": "Service", "name": "mesh"},
    ]
    obj = deployment() | {"kind": "HTTPRoute", "spec": {"parentRefs": parents}}

    row = HTTP_ROUTE.projected(obj)

    assert row.index_keys == (("Gateway", "team-a", "mine"), ("Gateway", "infra", "shared"))


def test_a_gateway_has_its_own_index_key() -> None:
    row = GATEWAYS.projected({"metadata": {"namespace": "infra", "name": "shared"}})

    assert row_keys(row) == (("Gateway", "infra", "shared"),)
