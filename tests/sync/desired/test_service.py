"""The desired state of one service, all parts together."""

from dataclasses import replace
from typing import Any

import pytest

from intent import Object
from intent.annotations import Routing
from intent.budget import MEMBERS as MOST
from intent.errors import Subject
from intent.service.member import Member
from sync.desired.gang import Refusal
from sync.desired.service import ALL, SETS, Desired, desired_state
from sync.kinds import LWS, ROUTES
from sync.observed.inferenceservice import cached_inferenceservice
from sync.observed.snapshot import Situation, Snapshot
from tests.sync.samples import KEY, SETTINGS, decode, inference_service, prefill, role, routed

MEMBERS = (prefill(), decode())
SPLIT = Routing("pd-disaggregation", gateway="gate")
ROUTED = (prefill(routing=SPLIT), decode(routing=SPLIT))
FIRST, SECOND = f"{KEY[1]}-54b76dbb9c", f"{KEY[1]}-7d9f6c5b4d"
PARTS = [
    *("ServiceAccount", "RoleBinding", "ConfigMap", "InferencePool", "Deployment", "Service"),
    "HTTPRoute",
]


def snapshot(
    service: Object | None = None, members: tuple[Any, ...] = (), **rows: tuple[Any, ...]
) -> Snapshot:
    return Snapshot(Situation(KEY, members), cached_inferenceservice(service) if service else None, rows)


def said(desired: Desired) -> list[tuple[str, str, str]]:
    return [(one.subject.kind, one.subject.name, one.error.code) for one in desired.all_findings]


def kinds(desired: Desired) -> list[str]:
    return [obj["kind"] for obj in desired.objects]


def test_an_inference_service_has_an_lws_for_each_role() -> None:
    desired = desired_state(snapshot(inference_service()), SETTINGS)

    assert [obj["metadata"]["name"] for obj in desired.objects] == ["r1-prefill", "r1-decode"]


def test_it_controls_them_and_blocks_no_deletion() -> None:
    desired = desired_state(snapshot(inference_service()), SETTINGS)

    assert desired.objects[0]["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "fusioninfer.io/v1alpha1",
            "kind": "InferenceService",
            "name": "r1",
            "uid": "uid-r1",
            "controller": True,
        }
    ]


def test_they_have_the_label_by_which_the_controller_finds_them() -> None:
    desired = desired_state(snapshot(inference_service()), SETTINGS)

    assert desired.objects[0]["metadata"]["labels"] == {"fusioninfer.io/service": "r1"}


def test_the_order_follows_the_requirements() -> None:
    desired = desired_state(snapshot(routed(), ROUTED), SETTINGS)

    assert kinds(desired) == ["LeaderWorkerSet", "LeaderWorkerSet", "PodGroup", "Service", *PARTS]


def test_users_keep_the_lws_that_they_wrote() -> None:
    desired = desired_state(snapshot(members=MEMBERS), SETTINGS)

    assert (kinds(desired), set(desired.held)) == (["PodGroup", "Service"], set(SETS))


def test_an_unreadable_inference_service_changes_no_lws_and_no_route() -> None:
    broken = routed(role("a", replicas="many"))

    desired = desired_state(snapshot(broken, ROUTED), SETTINGS)

    assert (kinds(desired), set(desired.held)) == (["PodGroup"], set(SETS | ROUTES))


def test_an_inference_service_with_a_field_of_a_later_release_changes_nothing() -> None:
    newer = inference_service(role("a", sharding="by expert"))

    desired = desired_state(snapshot(newer), SETTINGS)

    assert (kinds(desired), set(desired.held)) == ([], set(SETS | ROUTES))
    assert said(desired) == [("InferenceService", "r1", "FI702")]


def test_an_inference_service_that_breaks_a_rule_is_applied_and_loses_nothing() -> None:
    broken = inference_service(annotations={"fusioninfer.io/strategy": "queue-size"})

    desired = desired_state(snapshot(broken), SETTINGS)

    assert (kinds(desired), set(desired.held)) == (["LeaderWorkerSet"] * 2, set(SETS | ROUTES))


def test_a_broken_rule_is_reported() -> None:
    broken = inference_service(annotations={"fusioninfer.io/strategy": "queue-size"})

    desired = desired_state(snapshot(broken), SETTINGS)

    assert said(desired) == [("InferenceService", "r1", "FI709")]


def test_an_unreadable_inference_service_is_told_why() -> None:
    broken = inference_service(role("a", replicas="many"))

    desired = desired_state(snapshot(broken), SETTINGS)

    assert [finding.subject.kind for finding in desired.findings] == ["InferenceService"]


def test_an_inference_service_being_deleted_changes_nothing() -> None:
    going = inference_service(deletionTimestamp="2026-01-01T00:00:00Z")

    desired = desired_state(snapshot(going, MEMBERS), SETTINGS)

    assert (desired.objects, set(desired.held)) == ((), set(ALL))


def test_an_unreadable_object_is_reported_and_changes_nothing() -> None:
    """Its LeaderWorkerSets look as if it were gone."""
    subject, why = (
        Subject("fusioninfer.io/v1alpha1", "InferenceService", "team-a", "r1", "uid-r1"),
        "too deep",
    )
    controller = {"kind": "InferenceService", "name": "r1", "uid": "uid-r1", "controller": True}
    metadata = {"namespace": "team-a", "name": "r1-prefill", "ownerReferences": [controller]}
    left = snapshot(None, (), LeaderWorkerSet=(LWS.project({"metadata": metadata}),))
    seen = replace(left, unknown={"InferenceService": why}, unreadable=((subject, why),))

    desired = desired_state(seen, SETTINGS)

    assert (desired.objects, set(desired.held)) == ((), set(ALL))
    assert said(desired) == [("InferenceService", "r1", "FI881")]


@pytest.mark.parametrize("service", [None, inference_service(uid="uid-new")], ids=["gone", "replaced"])
def test_objects_of_a_deleted_inference_service_are_left_to_the_garbage_collector(
    service: Object | None,
) -> None:
    controller = {"kind": "InferenceService", "name": "r1", "uid": "uid-old", "controller": True}
    metadata = {"namespace": "team-a", "name": "r1-prefill", "ownerReferences": [controller]}

    desired = desired_state(
        snapshot(service, MEMBERS, LeaderWorkerSet=(LWS.project({"metadata": metadata}),)), SETTINGS
    )

    assert (desired.objects, set(desired.held)) == ((), set(ALL))


def test_members_that_disagree_hold_the_pod_group_and_nothing_else() -> None:
    members = (prefill(queue="gpu"), decode(routing=SPLIT))

    desired = desired_state(snapshot(routed(), members), SETTINGS)

    assert kinds(desired) == ["LeaderWorkerSet", "LeaderWorkerSet", "Service", *PARTS]
    assert (desired.held, set(desired.held_objects)) == (
        frozenset(),
        {("PodGroup", "r1"), ("DestinationRule", "r1-epp")},
    )


def test_members_that_disagree_on_routes_hold_the_routes_and_nothing_else() -> None:
    members = (prefill(routing=Routing("queue-size")), decode(routing=SPLIT))

    desired = desired_state(snapshot(members=members), SETTINGS)

    assert (kinds(desired), set(desired.held)) == (["PodGroup", "Service"], set(SETS | ROUTES))


def test_before_its_lws_exist_no_route_is_made_or_deleted() -> None:
    desired = desired_state(snapshot(routed()), SETTINGS)

    assert (kinds(desired), set(desired.held)) == (["LeaderWorkerSet", "LeaderWorkerSet"], set(ROUTES))


def test_without_a_router_no_route_is_held() -> None:
    desired = desired_state(snapshot(inference_service()), SETTINGS)

    assert desired.held == frozenset()


def test_a_refused_route_is_reported_on_the_inference_service() -> None:
    refusal = Refusal("FI870", "this cluster has no InferencePool", "InferencePool")

    desired = desired_state(snapshot(inference_service(), MEMBERS), SETTINGS, (refusal,))

    assert said(desired) == [("InferenceService", "r1", "FI870")]


def test_without_an_inference_service_it_is_reported_on_every_member() -> None:
    refusal = Refusal("FI870", "this cluster has no InferencePool", "InferencePool")

    desired = desired_state(snapshot(members=MEMBERS), SETTINGS, (refusal,))

    assert said(desired) == [("LeaderWorkerSet", name, "FI870") for name in ("d", "p")]


def test_an_old_volcano_removes_the_pod_group_only() -> None:
    refusal = Refusal("FI408", "too old", "PodGroup")

    desired = desired_state(snapshot(members=ROUTED), SETTINGS, (refusal,))

    assert (kinds(desired), {code for _, _, code in said(desired)}) == (["Service", *PARTS], {"FI408"})


def revisions(*members: Member) -> Snapshot:
    """Return two revisions of a DisaggregatedSet: the first has `MEMBERS`, the second these."""
    gangs = (Situation(KEY, MEMBERS, group=FIRST), Situation(KEY, members, group=SECOND))
    return Snapshot(Situation(KEY, ()), revisions=gangs)


def test_a_refused_pod_group_is_reported_on_its_own_revision_only() -> None:
    refusal = Refusal("FI411", "a webhook refuses it", "PodGroup", name=SECOND)

    desired = desired_state(revisions(prefill("new-p"), decode("new-d")), SETTINGS, (refusal,))

    assert sorted(said(desired)) == [("LeaderWorkerSet", name, "FI411") for name in ("new-d", "new-p")]


def test_an_old_volcano_is_reported_on_all_revisions() -> None:
    refusal = Refusal("FI408", "too old", "PodGroup", name=SECOND)

    desired = desired_state(revisions(prefill("new-p"), decode("new-d")), SETTINGS, (refusal,))

    assert {name for _, name, _ in said(desired)} == {"d", "p", "new-d", "new-p"}
    assert kinds(desired) == ["Service"]


def test_a_revision_whose_members_disagree_holds_its_own_pod_group_only() -> None:
    desired = desired_state(revisions(prefill("new-p", queue="gpu"), decode("new-d")), SETTINGS)

    assert [obj["metadata"]["name"] for obj in desired.objects] == [FIRST, f"{KEY[1]}-api"]
    assert desired.held_objects == {("PodGroup", SECOND)}
    assert "PodGroup" not in desired.held


def test_findings_about_routes_are_kept_apart() -> None:
    desired = desired_state(snapshot(routed(), MEMBERS), SETTINGS)

    assert ([one.error.code for one in desired.of_routes], desired.findings) == (["FI807"], ())


def test_a_service_of_too_many_members_is_left_as_it_is_with_one_finding() -> None:
    members = tuple(decode(f"d{at}", role_name=f"d{at}") for at in range(MOST + 1))

    at_limit = desired_state(snapshot(members=members[1:]), SETTINGS)
    desired = desired_state(snapshot(members=members), SETTINGS)

    assert at_limit.held != ALL
    assert (desired.objects, desired.held, len(said(desired))) == ((), ALL, 1)
    assert desired.findings[0].error.code == "FI904"
