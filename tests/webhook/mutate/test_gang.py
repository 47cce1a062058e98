"""The PodGroup of a LeaderWorkerSet: of its service, or of a slice and revision of its DisaggregatedSet."""

import copy

import pytest

from intent import Object
from intent.annotations import GROUP_NAME, REVISION, SLICE
from tests.builders.lws import lws
from tests.sync.samples import SETTINGS
from webhook.check import check
from webhook.expand import change, expanded
from webhook.state import state


def of_revision(revision: str) -> Object:
    obj = lws(component_type="decoder")
    obj["metadata"].setdefault("labels", {})[REVISION] = revision
    return obj


def group(obj: Object) -> str:
    template = expanded(obj, SETTINGS)["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    return str(template["metadata"]["annotations"][GROUP_NAME])


def test_each_revision_of_a_disaggregatedset_has_its_own_pod_group() -> None:
    assert group(of_revision("0a1b2c3d")) == "svc-0a1b2c3d"


@pytest.mark.parametrize("revision", ["", "1", "team", "0A1B2C3D", "../../x", "a" * 64])
def test_a_label_that_is_no_hash_changes_no_name(revision: str) -> None:
    assert group(of_revision(revision)) == "svc"


@pytest.mark.parametrize("part", ["1", "10", "99"])
def test_each_later_slice_has_its_own_pod_group(part: str) -> None:
    obj = of_revision("0a1b2c3d")
    obj["metadata"]["labels"][SLICE] = part

    assert group(obj) == f"svc.{part}.0a1b2c3d"


@pytest.mark.parametrize("part", ["0", "", "01", "-1", "x", "1.2", "1000", 1, None])
def test_slice_0_has_the_pod_group_of_a_set_without_slices(part: object) -> None:
    obj = of_revision("0a1b2c3d")
    obj["metadata"]["labels"][SLICE] = part

    assert group(obj) == "svc-0a1b2c3d"


def test_a_slice_without_a_revision_changes_no_name() -> None:
    obj = lws(component_type="decoder")
    obj["metadata"]["labels"] = {SLICE: "1"}

    assert group(obj) == "svc"


@pytest.mark.parametrize("labels", [{SLICE: "2"}, {REVISION: "4e5f6a7b"}, {REVISION: ""}])
def test_an_object_that_changes_stays_in_the_gang_in_which_it_was_created(labels: dict[str, str]) -> None:
    created = of_revision("0a1b2c3d")
    created["metadata"]["labels"][SLICE] = "1"
    old = expanded(created, SETTINGS)
    live = copy.deepcopy(old)
    live["metadata"]["labels"] |= labels
    live["metadata"]["annotations"]["fusioninfer.io/refresh"] = "1"
    live["spec"]["leaderWorkerTemplate"]["size"] = 4

    after = change(live, state(live, old), SETTINGS)

    template = after["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    assert template["metadata"]["annotations"][GROUP_NAME] == "svc.1.0a1b2c3d"
    assert not [one for one in check(after, old, SETTINGS) if one.severity == "error"]


def test_what_was_expanded_before_keeps_its_pod_group() -> None:
    old = expanded(lws(component_type="decoder"), SETTINGS)
    old["metadata"]["labels"][REVISION] = "0a1b2c3d"
    live = copy.deepcopy(old)
    live["spec"]["replicas"] = 3
    live["metadata"]["annotations"]["team"] = "a"

    after = change(live, state(live, old), SETTINGS)

    assert after["spec"] == live["spec"]


def test_a_template_that_names_the_pod_group_of_the_whole_service_is_an_error() -> None:
    obj = of_revision("0a1b2c3d")
    worker = obj["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    worker["metadata"] = {"annotations": {GROUP_NAME: "svc"}}

    assert [one.code for one in check(obj, None, SETTINGS, mutated=False) if one.severity == "error"] == [
        "FI205"
    ]
