"""The PodGroup of a LeaderWorkerSet: that of its service, or of one revision of its DisaggregatedSet."""

import copy

import pytest

from intent import Object
from intent.annotations import GROUP_NAME, REVISION
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
        "FI206"
    ]
