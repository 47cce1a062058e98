"""Whose changes an apply undid, by `managedFields`."""

from typing import Any

import pytest

from intent import Object
from sync.observed.managed_fields import UNKNOWN, Takeover, taken_over

OURS: Object = {"f:spec": {"f:minMember": {}, "f:queue": {}}}


def stored(*entries: tuple[str, str, Any], subresource: str = "") -> Object:
    """Return an object with entries of `managedFields`: manager, operation and fields."""
    return {
        "metadata": {
            "managedFields": [
                {"manager": name, "operation": operation, "fieldsV1": fields, "subresource": subresource}
                for name, operation, fields in entries
            ]
        }
    }


def test_the_manager_that_loses_a_field_had_changed_it() -> None:
    edited: Object = {"f:spec": {"f:minMember": {}}}
    before = stored(("fusioninfer", "Apply", {"f:spec": {"f:queue": {}}}), ("kubectl-edit", "Update", edited))

    assert taken_over(before, stored(("fusioninfer", "Apply", OURS))) == Takeover(
        ("kubectl-edit",), ("spec.minMember",)
    )


def test_a_removed_field_has_no_manager() -> None:
    before = stored(("fusioninfer", "Apply", {"f:spec": {"f:minMember": {}}}))

    assert taken_over(before, stored(("fusioninfer", "Apply", OURS))) == Takeover((), ("spec.queue",))


def test_a_field_that_was_added_and_removed_again_is_named() -> None:
    added: Object = {"f:spec": {"f:minResources": {".": {}, "f:cpu": {}}}}
    before = stored(("fusioninfer", "Apply", OURS), ("k9s", "Update", added))

    assert taken_over(before, stored(("fusioninfer", "Apply", OURS))) == Takeover(
        ("k9s",), ("spec.minResources.cpu",)
    )


def test_items_of_lists_are_written_with_their_keys() -> None:
    image: Object = {"f:spec": {"f:containers": {'k:{"name":"vllm"}': {".": {}, "f:image": {}}}}}
    before = stored(("fusioninfer", "Apply", {}), ("kubectl-set", "Update", image))

    assert taken_over(before, stored(("fusioninfer", "Apply", image))).fields == (
        'spec.containers[{"name":"vllm"}].image',
    )


def test_what_others_keep_was_not_changed() -> None:
    label: tuple[str, str, Object] = ("helm", "Update", {"f:metadata": {"f:labels": {"f:a": {}}}})
    one = stored(("fusioninfer", "Apply", OURS), label)

    assert taken_over(one, one) == UNKNOWN


def test_a_status_is_nobodys_change() -> None:
    before = stored(("volcano", "Update", {"f:status": {"f:phase": {}}}), subresource="status")

    assert taken_over(before, stored(("fusioninfer", "Apply", {}))) == UNKNOWN


def test_the_second_field_manager_of_the_controller_is_no_other_client() -> None:
    kept: tuple[str, str, Object] = ("fusioninfer-let-go", "Apply", {"f:spec": {"f:replicas": {}}})

    assert taken_over(stored(kept), stored(("fusioninfer", "Apply", {}))) == UNKNOWN


@pytest.mark.parametrize("fields", [None, [], 5, "x", {"f:spec": None}, {"f:spec": [1]}])
def test_anything_is_read(fields: Any) -> None:
    taken_over(stored(("x", "Update", fields)), {})
    taken_over({}, stored(("x", "Update", fields)))
