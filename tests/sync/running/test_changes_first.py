"""Changes go before the resync of services in which nothing changed."""

import pytest

from sync.kinds import LWS, POD_GROUP
from tests.sync.conftest import Start, eventually
from tests.sync.fake_api import Api
from tests.sync.samples import APPLIED, alone

MANY = 500
NEW = POD_GROUP.path("team-a", "new")


def store(api: Api, service: str) -> None:
    """Store a service, as its author does."""
    api.put(LWS.path("team-a", service), alone(service))


@pytest.fixture
def many(api: Api) -> None:
    """Store services that have their PodGroups; each needs one dry run to see that it is unchanged."""
    api.prune = lambda obj: obj["spec"].update(queue="team")
    owner = {"apiVersion": LWS.resource.api_version, "kind": LWS.kind, "controller": False}
    for number in range(MANY):
        name = f"old-{number}"
        store(api, name)
        metadata = {
            "namespace": "team-a",
            "name": name,
            "labels": {"fusioninfer.io/service": name},
            "ownerReferences": [owner | {"name": name, "uid": f"uid-{name}"}],
            "managedFields": APPLIED,
        }
        api.put(POD_GROUP.path("team-a", name), {"kind": "PodGroup", "metadata": metadata, "spec": {}})


def resynced(api: Api) -> int:
    """Return how many services of the resync were reconciled: each takes a dry run, at least."""
    return len({path for method, path in api.requests if method == "PATCH" and "old-" in path})


async def ready(api: Api, start: Start) -> None:
    """Start a leader, and slow the API server down once it works."""
    start()
    await eventually(lambda: resynced(api) > 0)
    api.latency = 0.05


@pytest.mark.usefixtures("many")
async def test_a_service_created_during_the_resync_is_served_at_once(api: Api, start: Start) -> None:
    await ready(api, start)
    before = resynced(api)

    store(api, "new")
    await eventually(lambda: NEW in api.objects)

    assert (resynced(api) - before < MANY / 10, before < MANY / 2) == (True, True), (before, resynced(api))


@pytest.mark.usefixtures("many")
async def test_a_service_created_before_the_leader_started_is_served_at_once(api: Api, start: Start) -> None:
    store(api, "new")

    start()
    await eventually(lambda: NEW in api.objects)

    assert resynced(api) < MANY / 10
