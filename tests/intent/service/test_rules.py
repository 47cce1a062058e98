"""Members are read from expanded LeaderWorkerSets, and a service is checked offline."""

from dataclasses import replace

import pytest

from intent import Object
from intent.service.member import Member, member, services
from intent.service.rules import findings
from tests.sync.samples import KEY, SETTINGS, decode, lws, prefill, template


def read(stored: Object) -> Member:
    """Return the member that an object is."""
    found = member(stored)
    assert found is not None
    return found


def test_an_expanded_lws_is_a_member() -> None:
    found = read(lws())

    assert (found.key, found.component_type, found.role_name, found.size) == (KEY, "prefiller", "prefill", 2)


@pytest.mark.parametrize("key", ["service", "expansion"])
def test_an_lws_without_the_annotation_is_no_member(key: str) -> None:
    stored = lws()

    del stored["metadata"]["annotations"][f"fusioninfer.io/{key}"]

    assert member(stored) is None


def test_an_lws_without_the_label_is_no_member() -> None:
    stored = lws()

    stored["metadata"]["labels"] = {}

    assert member(stored) is None


def test_the_scheduler_is_that_of_the_templates() -> None:
    assert read(lws()).scheduler == "volcano"


def test_pods_outside_the_group_have_no_gang_scheduler() -> None:
    stored = lws()
    stored["spec"]["leaderWorkerTemplate"]["workerTemplate"] = {"spec": {"schedulerName": "volcano"}}

    assert read(stored).scheduler == ""


def test_a_priority_class_of_all_templates_is_that_of_the_member() -> None:
    stored = lws()
    group = stored["spec"]["leaderWorkerTemplate"]
    group["leaderTemplate"] = group["workerTemplate"] = template(priority="high")

    assert read(stored).priority_classes == ("high",)


def test_two_priority_classes_of_a_member_are_both_kept() -> None:
    stored = lws()
    group = stored["spec"]["leaderWorkerTemplate"]
    group["leaderTemplate"], group["workerTemplate"] = template(priority="high"), template(priority="low")

    assert read(stored).priority_classes == ("high", "low")


def test_declared_roles_are_separated_by_commas() -> None:
    stored = lws()
    stored["metadata"]["annotations"]["fusioninfer.io/roles"] = "prefill, decode,"

    assert read(stored).roles == {"prefill", "decode"}


def test_size_and_replicas_default_to_one() -> None:
    stored = lws()
    stored["spec"] = {"leaderWorkerTemplate": {"workerTemplate": template()}}

    found = read(stored)

    assert (found.size, found.replicas) == (1, 1)


def test_a_member_being_deleted_is_marked() -> None:
    stored = lws()
    stored["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"

    assert read(stored).deleting


@pytest.mark.parametrize("value", [{}, {"metadata": None}, {"metadata": {"labels": 3}}, {"spec": []}])
def test_other_objects_are_no_members(value: Object) -> None:
    assert member(value) is None


def test_members_are_grouped_by_service() -> None:
    other = member(lws("other"))
    assert other is not None

    found = services([prefill(), decode()])

    assert {key: [one.name for one in of_one] for key, of_one in found.items()} == {KEY: ["p", "d"]}


def test_offline_an_incomplete_service_is_a_warning() -> None:
    said = findings([prefill(uid="", created="")], SETTINGS)

    assert [(f.error.code, f.error.severity) for f in said] == [("FI410", "warning")]


def test_offline_a_contradiction_is_an_error_of_the_annotation() -> None:
    said = findings([prefill(), decode(), decode("copy")], SETTINGS)

    assert {(f.error.path, f.error.severity) for f in said} == {
        ("metadata.annotations[fusioninfer.io/role-name]", "error")
    }


def test_declared_roles_without_a_decoder_are_reported() -> None:
    first = replace(prefill(), roles=frozenset({"prefill", "prefill-b"}))
    other = replace(prefill("other"), role_name="prefill-b")

    said = findings([first, other], SETTINGS)

    assert [(one.error.code, one.subject.name) for one in said] == [("FI540", first.name)]
    assert findings([replace(prefill(), roles=frozenset({"prefill", "decode"})), decode()], SETTINGS) == ()


def test_a_message_names_a_few_other_members_and_the_number_of_further_ones() -> None:
    found = findings([decode(f"d{at}", role_name="d", queue=f"q{at}") for at in range(40)], SETTINGS)

    messages = {one.error.code: one.error.message for one in found if one.subject.name == "d0"}

    assert "is also the role of d1, d10, d11, d12, d13, 34 more;" in messages["FI401"]
    assert "(d1: q1, d10: q10, d11: q11, d12: q12, d13: q13, 34 more)" in messages["FI405"]
