"""The autoscaler of a role: made, repaired, and deleted; and what becomes of the replicas."""

import copy
from typing import Any

import pytest

from intent import Object
from sync import kinds
from tests.builders.autoscaling import pods, scaling
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.running.test_replicas import asking, owners, replicas, scale
from tests.sync.served import DECODE, HOME, SERVICE, admit, reasons, reported

AUTOSCALER = kinds.AUTOSCALER.path(HOME, "r1-decode")
KUBERNETES = "kube-controller-manager"


@pytest.fixture(autouse=True)
def _admission(api: Api) -> None:
    api.prune = admit


def scaled(generation: int = 1, **fields: Any) -> Object:
    """Return a service whose decode role has an autoscaler."""
    return asking(generation, scaling=scaling(pods(), **fields))


@pytest.fixture
async def served(api: Api, start: Start) -> None:
    """Run a controller until the role has its autoscaler, which has scaled it to five."""
    api.put(SERVICE, scaled())
    start()
    await eventually(lambda: AUTOSCALER in api.objects)
    scale(api, 5, KUBERNETES)
    await quiet()


@pytest.mark.usefixtures("served")
async def test_the_controller_does_not_write_what_it_scales(api: Api) -> None:
    before = len(api.writes)
    for count in (6, 3, 0, 1):
        scale(api, count, KUBERNETES)
        await quiet()

    assert ("PATCH", DECODE) not in api.writes[before:]
    assert (replicas(api), owners(api)) == (1, {KUBERNETES})


@pytest.mark.usefixtures("served")
async def test_the_autoscaler_is_repaired_made_again_and_changed_by_its_author(api: Api) -> None:
    spec = copy.deepcopy(api.objects[AUTOSCALER]["spec"])
    other = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    for edit in ({"maxReplicas": 99}, {"scaleTargetRef": other}):
        api.edit(AUTOSCALER, **edit)
        await eventually(lambda: api.objects[AUTOSCALER]["spec"] == spec)
    api.remove(AUTOSCALER)
    await eventually(lambda: AUTOSCALER in api.objects)
    assert replicas(api) == 5

    api.put(SERVICE, scaled(2, maxReplicas=8))

    await eventually(lambda: api.objects[AUTOSCALER]["spec"]["maxReplicas"] == 8)
    assert replicas(api) == 5


@pytest.mark.usefixtures("served")
async def test_scaling_that_is_removed_keeps_the_replicas(api: Api) -> None:
    api.put(SERVICE, asking(2))

    await eventually(lambda: AUTOSCALER not in api.objects)
    await quiet()
    assert replicas(api) == 5


@pytest.mark.usefixtures("served")
async def test_replicas_in_place_of_scaling_are_applied_and_a_late_scale_is_reverted(api: Api) -> None:
    api.put(SERVICE, asking(2, replicas=2))
    await eventually(lambda: AUTOSCALER not in api.objects and replicas(api) == 2)
    await eventually(lambda: reported(api, "Failed") == "NothingFailed")

    scale(api, 5, KUBERNETES)

    await eventually(lambda: replicas(api) == 2)


async def test_scaling_in_place_of_replicas_keeps_them(api: Api, start: Start) -> None:
    api.put(SERVICE, asking(replicas=3))
    start()
    await eventually(lambda: DECODE in api.objects and replicas(api) == 3)

    api.put(SERVICE, scaled(2))
    await eventually(lambda: AUTOSCALER in api.objects)
    await quiet()

    assert (replicas(api), owners(api)) == (3, {"fusioninfer-let-go"})


@pytest.mark.parametrize("kind", ["LeaderWorkerSet", "Deployment"])
async def test_a_user_s_autoscaler_of_that_name_is_left_alone(api: Api, start: Start, kind: str) -> None:
    """`kubectl autoscale` names the autoscaler after what it scales."""
    group = {"LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1", "Deployment": "apps/v1"}[kind]
    spec = {"scaleTargetRef": {"apiVersion": group, "kind": kind, "name": "r1-decode"}, "maxReplicas": 9}
    metadata = {"namespace": HOME, "name": "r1-decode"}
    api.put(AUTOSCALER, {"kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec})
    api.put(SERVICE, scaled())
    start()

    await eventually(lambda: ("InferenceService", "r1", "ObjectNotOurs") in reasons(api))
    assert api.objects[AUTOSCALER]["spec"] == spec
