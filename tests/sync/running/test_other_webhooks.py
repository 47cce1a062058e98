"""Rules of another product's webhook that change: no LeaderWorkerSet is written, and no pod restarts."""

import copy
from collections.abc import Callable
from typing import Final

import pytest

from intent import Object
from sync.controller import Controller
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import role, routed
from tests.sync.served import DECODE, PREFILL, SERVICE, admit, change

CHANGED: Final = routed(role("prefill", "prefiller"), role("decode", "decoder", replicas=3), generation=2)
Rule = Callable[[Object], None]


def labelled(value: str) -> Rule:
    """Return admission with a policy of another product, which labels the pods of LeaderWorkerSets."""

    def both(obj: Object) -> None:
        admit(obj)
        if obj["kind"] == "LeaderWorkerSet":
            template = obj["spec"]["leaderWorkerTemplate"]["workerTemplate"]
            metadata = template.get("metadata", {})
            template["metadata"] = metadata | {"labels": metadata.get("labels", {}) | {"policy": value}}

    return both


def specs(api: Api) -> list[Object]:
    """Return the specs of the LeaderWorkerSets."""
    return [copy.deepcopy(api.objects[path]["spec"]) for path in (PREFILL, DECODE)]


def policy(api: Api, path: str = DECODE) -> str | None:
    """Return the label of the policy in a template."""
    template = api.objects[path]["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    found: str | None = template.get("metadata", {}).get("labels", {}).get("policy")
    return found


@pytest.mark.usefixtures("served")
async def test_a_new_leader_writes_nothing_for_a_new_policy(api: Api, start: Start) -> None:
    before = specs(api)
    api.prune = labelled("new")
    api.writes.clear()

    start()
    await quiet(3)

    assert specs(api) == before
    assert [path for _, path in api.writes if "leaderworkersets" in path] == []


async def test_a_label_on_a_leaderworkerset_applies_no_new_policy(api: Api, served: Controller) -> None:
    before = specs(api)
    api.prune = labelled("new")
    metadata = copy.deepcopy(api.objects[DECODE]["metadata"])

    change(api, DECODE, metadata=metadata | {"labels": metadata["labels"] | {"team": "a"}})
    await quiet(3)

    assert specs(api) == before
    assert not served.queue.failures


@pytest.mark.usefixtures("served")
async def test_a_change_of_the_author_is_written_with_the_policy(api: Api) -> None:
    api.prune = labelled("new")

    api.put(SERVICE, CHANGED)

    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] == 3)
    assert (policy(api), policy(api, PREFILL)) == ("new", None)


@pytest.mark.usefixtures("served")
async def test_an_edit_of_what_the_controller_applied_is_undone_all_the_same(api: Api) -> None:
    api.prune = labelled("new")

    api.edit(DECODE, replicas=7)

    await eventually(lambda: api.objects[DECODE]["spec"]["replicas"] != 7)
