"""The rendered PodGroup, and the offline preview."""

import dataclasses
from pathlib import Path

from intent import yaml
from intent.annotations import Routing
from sync.desired.preview import preview
from sync.desired.render.workloads import gang_objects
from sync.observed.inferenceservice import cached_inferenceservice
from tests.sync.samples import SETTINGS, decode, inference_service, planned, prefill

GOLDEN = Path(__file__).parent / "golden" / "podgroup.yaml"


def test_the_pod_group_is_the_golden_one() -> None:
    name = "deepseek-r1-disagg"
    p = dataclasses.replace(prefill(f"{name}-prefill"), service=name)
    d = dataclasses.replace(decode(f"{name}-decode"), service=name)

    rendered, _ = preview([p, d], SETTINGS).objects

    assert GOLDEN.read_text(encoding="utf-8") == yaml.dump(rendered)


def test_offline_there_are_no_owners() -> None:
    found = preview([prefill(uid=""), decode(uid="")], SETTINGS)

    assert "ownerReferences" not in found.objects[0]["metadata"]


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


def test_offline_there_are_routes_too() -> None:
    asked = Routing("pd-disaggregation")

    found = preview([prefill(uid=""), decode(uid="", routing=asked)], SETTINGS)

    assert [
        obj["metadata"]["name"] for obj in found.objects if obj["kind"] in {"PodGroup", "InferencePool"}
    ] == [
        "r1",
        "r1-pool",
    ]
