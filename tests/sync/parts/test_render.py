"""The rendered PodGroup, and the offline preview."""

from sync.parts.workloads import gang_objects
from tests.sync.samples import decode, planned, prefill


def test_a_shared_priority_is_rendered() -> None:
    decided = planned(prefill(priority_classes=("high",)), decode(priority_classes=("high",)))

    assert gang_objects(decided)[0]["spec"]["priorityClassName"] == "high"
