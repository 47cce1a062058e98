"""The projection of an autoscaler."""

from typing import Any

import pytest

from intent import Object
from sync.observed.autoscaler import cached_autoscaler
from tests.sync.samples import APPLIED

SET = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "r1-decode"}


def hpa(target: Object = SET, *conditions: Object, **metadata: Any) -> Object:
    """Return a HorizontalPodAutoscaler as it is in a list: without its kind."""
    return {
        "metadata": {"namespace": "team-a", "name": "mine", **metadata},
        "spec": {"scaleTargetRef": target, "maxReplicas": 4},
        "status": {"conditions": list(conditions)},
    }


def kept(obj: Object) -> Any:
    """Return the row of an autoscaler that is kept."""
    row = cached_autoscaler(obj)
    assert row is not None
    return row


def condition(kind: str, status: str, reason: str, message: str = "") -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def test_it_is_found_by_the_set_that_it_scales() -> None:
    row = kept(hpa())

    assert row.target == "r1-decode"
    assert row.index_keys == (("LeaderWorkerSet", "team-a", "r1-decode"),)


@pytest.mark.parametrize(
    "target",
    [
        SET | {"kind": "Deployment"},
        SET | {"apiVersion": "apps/v1"},
        {"kind": "LeaderWorkerSet", "name": "r1-decode"},
        {},
        None,
        [],
    ],
)
def test_one_that_scales_something_else_is_not_kept(target: Any) -> None:
    assert cached_autoscaler(hpa(target)) is None


def test_ours_is_kept_whatever_somebody_else_made_it_scale() -> None:
    assert kept(hpa({"kind": "Deployment", "name": "d"}, managedFields=APPLIED)).target == ""


def test_a_change_of_the_status_changes_no_fingerprint() -> None:
    assert kept(hpa()).fingerprint == kept(hpa(SET, condition("a", "b", "c"))).fingerprint
