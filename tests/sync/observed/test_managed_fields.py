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


MEMBERS: Object = {"f:spec": {"f:minMember": {}}}
QUEUE: Object = {"f:spec": {"f:queue": {}}}
ADDED: Object = {"f:spec": {"f:minResources": {".": {}, "f:cpu": {}}}}


@pytest.mark.parametrize(
    ("entries", "takeover"),
    [
        (
            [("fusioninfer", "Apply", QUEUE), ("kubectl-edit", "Update", MEMBERS)],
            Takeover(("kubectl-edit",), ("spec.minMember",)),
        ),
        ([("fusioninfer", "Apply", MEMBERS)], Takeover((), ("spec.queue",))),
        (
            [("fusioninfer", "Apply", OURS), ("k9s", "Update", ADDED)],
            Takeover(("k9s",), ("spec.minResources.cpu",)),
        ),
    ],
    ids=["changed", "removed", "added"],
)
def test_the_manager_that_loses_a_field_had_changed_it(
    entries: list[tuple[str, str, Any]], takeover: Takeover
) -> None:
    assert taken_over(stored(*entries), stored(("fusioninfer", "Apply", OURS))) == takeover


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
