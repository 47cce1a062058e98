"""Pausing affects only the controller: admission accepts it, and expansion and record do not change."""

import pytest

from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import read
from tests.builders.isvc import isvc
from tests.builders.lws import changed, lws, put
from webhook.check import check
from webhook.expand import expand
from webhook.inferenceservice import check as check_service

PAUSED = "metadata.annotations.fusioninfer.io/paused"


@pytest.mark.parametrize("value", ["true", "false"])
def test_pausing_changes_no_stored_field(value: str) -> None:
    stored = put(lws())
    paused = changed(stored, PAUSED, value)

    assert expand(paused, stored) == []
    assert check(paused, stored) == []
    assert expand(stored, paused) == []


def test_an_object_created_as_paused_is_expanded() -> None:
    paused = put(changed(lws(), PAUSED, "true"))

    assert paused == changed(put(lws()), PAUSED, "true")


def test_pausing_changes_nothing_of_an_invalid_object() -> None:
    stored = changed(put(lws()), "metadata.annotations.fusioninfer.io/launcher", "No Name")
    paused = changed(stored, PAUSED, "true")

    assert expand(paused, stored) == expand(stored, stored) == []
    assert [one for one in check(paused, stored) if one.severity == "error"] == []


def test_another_value_is_an_error() -> None:
    found = check(put(changed(lws(), PAUSED, "yes")))

    assert [(one.path, one.code) for one in found] == [
        ("metadata.annotations[fusioninfer.io/paused]", "FI104")
    ]


def test_an_inference_service_is_paused_and_renders_the_same() -> None:
    plain, paused = isvc(), isvc(annotations={"fusioninfer.io/paused": "true"})

    (one, _), (other, _) = read(plain), read(paused)

    assert one is not None
    assert other is not None
    assert leader_worker_sets(one) == leader_worker_sets(other)
    assert check_service(paused, plain) == []


def test_the_template_of_a_role_cannot_pause() -> None:
    wrong = changed(
        isvc(), "spec.roles.0.template.metadata", {"annotations": {"fusioninfer.io/paused": "true"}}
    )

    assert [one.code for one in check_service(wrong)] == ["FI709"]
