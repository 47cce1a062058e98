"""Members are read from expanded LeaderWorkerSets, and a service is checked offline."""

from typing import Any, Final

import pytest

from intent import Object
from intent.service.member import Member, member
from intent.service.rules import contradictions, present, waiting
from tests.builders.lws import changed
from tests.sync.samples import KEY, SETTINGS, decode, lws, prefill, template


def read(stored: Object) -> Member:
    """Return the member that an object is."""
    found = member(stored)
    assert found is not None
    return found


def test_an_expanded_lws_is_a_member() -> None:
    found = read(lws())

    assert (found.key, found.component_type, found.role_name, found.size) == (KEY, "prefiller", "prefill", 2)


GROUP: Final = "spec.leaderWorkerTemplate"
HIGH, LOW = template(priority="high"), template(priority="low")
WITHOUT: Final = {"leaderWorkerTemplate": {"workerTemplate": template()}}
FIELDS: Final[dict[str, tuple[Object, str, Any]]] = {
    "the scheduler of the templates": (lws(), "scheduler", "volcano"),
    "pods outside of the group have none": (
        changed(lws(), f"{GROUP}.workerTemplate", {"spec": {"schedulerName": "volcano"}}),
        "scheduler",
        "",
    ),
    "a priority class of all templates": (
        changed(lws(), GROUP, {"leaderTemplate": HIGH, "workerTemplate": HIGH}),
        "priority_classes",
        ("high",),
    ),
    "two priority classes": (
        changed(lws(), GROUP, {"leaderTemplate": HIGH, "workerTemplate": LOW}),
        "priority_classes",
        ("high", "low"),
    ),
    "declared roles": (
        changed(lws(), "metadata.annotations.fusioninfer.io/roles", "prefill, decode,"),
        "roles",
        {"prefill", "decode"},
    ),
    "the default size": (changed(lws(), "spec", WITHOUT), "size", 1),
    "the default of replicas": (changed(lws(), "spec", WITHOUT), "replicas", 1),
    "a deletion": (changed(lws(), "metadata.deletionTimestamp", "2026-01-02T00:00:00Z"), "deleting", True),
}


@pytest.mark.parametrize(("stored", "field", "value"), FIELDS.values(), ids=FIELDS)
def test_a_member_has_what_its_object_says(stored: Object, field: str, value: Any) -> None:
    assert getattr(read(stored), field) == value


@pytest.mark.parametrize(
    "value",
    [
        *(
            changed(lws(), f"metadata.annotations.fusioninfer.io/{key}", None)
            for key in ("service", "expansion")
        ),
        changed(lws(), "metadata.labels", {}),
        *({}, {"metadata": None}, {"metadata": {"labels": 3}}, {"spec": []}),
    ],
)
def test_other_objects_are_no_members(value: Object) -> None:
    assert member(value) is None


def test_offline_an_incomplete_service_is_a_warning() -> None:
    said = waiting(present([prefill(uid="", created="")]))

    assert [(f.error.code, f.error.severity) for f in said] == [("FI410", "warning")]


def test_offline_a_contradiction_is_an_error_of_the_annotation() -> None:
    said = contradictions(present([prefill(), decode(), decode("copy")]), SETTINGS)

    assert {(f.error.path, f.error.severity) for f in said} == {
        ("metadata.annotations[fusioninfer.io/role-name]", "error")
    }


def test_a_message_names_a_few_other_members_and_the_number_of_further_ones() -> None:
    members = present(decode(f"d{at}", role_name="d", queue=f"q{at}") for at in range(40))
    found = contradictions(members, SETTINGS)

    messages = {one.error.code: one.error.message for one in found if one.subject.name == "d0"}

    assert "is also the role of d1, d10, d11, d12, d13, 34 more;" in messages["FI401"]
    assert "(d1: q1, d10: q10, d11: q11, d12: q12, d13: q13, 34 more)" in messages["FI404"]
