"""The rendered PodGroup, and the offline preview."""

from sync.desired.preview import preview
from sync.desired.render.workloads import gang_objects
from sync.observed.inferenceservice import cached_inferenceservice
from tests.sync.samples import SETTINGS, decode, inference_service, planned, prefill


def test_offline_an_incomplete_service_has_a_finding_and_no_pod_group() -> None:
    found = preview([prefill(uid="")], SETTINGS)

    assert (found.objects, [f.error.code for f in found.findings]) == ((), ["FI410"])


def test_a_shared_priority_is_rendered() -> None:
    decided = planned(prefill(priority_classes=("high",)), decode(priority_classes=("high",)))

    assert gang_objects(decided)[0]["spec"]["priorityClassName"] == "high"


def test_offline_the_lws_of_an_inference_service_are_passed_in_as_members() -> None:
    value = cached_inferenceservice(inference_service()).value
    assert value is not None

    found = preview([prefill(uid=""), decode(uid="")], SETTINGS, [value])

    assert [obj["kind"] for obj in found.objects] == ["PodGroup", "Service"]
