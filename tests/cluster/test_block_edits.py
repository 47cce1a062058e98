"""Edits of the blocks of a running service: which pods restart, how often, and their templates then."""

import copy
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from intent import Object
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import read
from tests import tiers
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import PREFIX, container, lws, template
from tests.cluster.testbed.api import create, get, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import becomes
from tests.cluster.testbed.rollouts import Rollout, caught_up, rollout, started
from tests.cluster.testbed.wait import until
from webhook.expand import expanded

SIZE: Final = 2
OTHER: Final = "other"
ADAPTER: Final = {"name": "sql", "uri": "hf://org/sql"}
ENGINE: Final = template(container(args=["--max-model-len", "4096"], image="vllm/vllm-openai:v0.20.2"))
WHOLE: Final = template(
    container(
        args=["--tensor-parallel-size", "8", "--pipeline-parallel-size", "2"],
        image="vllm/vllm-openai:v0.20.2",
    )
)


class Edit(NamedTuple):
    """One edit of a block, for both inputs, and whether it concerns the pods."""

    annotations: dict[str, str | None]
    """By key without prefix; None removes it."""
    spec: Object
    """The same for an InferenceService, as a merge patch of its spec."""
    restarts: bool = True
    role: Object = {}  # noqa: RUF012 - never changed
    """A merge patch of its worker."""
    template: Object | None = None
    """Another template in the same write."""


EDITS: Final = {
    "model": Edit({"model": "s3://bucket/m"}, {"model": {"uri": "s3://bucket/m"}}),
    "model-name": Edit({"model-name": "mine"}, {"model": {"name": "mine"}}),
    "lora-added": Edit({"lora": "sql=hf://org/sql"}, {"lora": {"adapters": [ADAPTER]}}),
    "lora-removed": Edit({"lora": None}, {"lora": None}),
    "parallelism-changed": Edit(
        {"parallelism": "tensor=4,pipeline=4"}, {}, role={"parallelism": {"tensor": 4, "pipeline": 4}}
    ),
    "parallelism-removed": Edit(
        {"parallelism": None}, {}, role={"parallelism": None, "multinode": {"nodeCount": 2}}, template=WHOLE
    ),
    "priority-changed": Edit({"priority": "Sheddable"}, {"priority": "Sheddable"}, restarts=False),
    "priority-removed": Edit({"priority": None}, {"priority": None}, restarts=False),
}


class Input(NamedTuple):
    """One kind of object in which an author writes the blocks."""

    resource: str
    make: Callable[[str, bool], Object]
    """Make one of a name, with or without an adapter."""
    change: Callable[[Edit, Object], Object]
    """Return the merge patch of an edit for a stored object."""
    member: str
    """Name of its LeaderWorkerSet."""
    rendered: Callable[[Object], Object]
    """Return the LeaderWorkerSet that the author, or the controller, writes."""


def annotated(name: str, adapted: bool) -> Object:  # noqa: FBT001 - called by position
    """Return a LeaderWorkerSet with all blocks."""
    notes: dict[str, Any] = {"lora": "sql=hf://org/sql"} if adapted else {}
    made = lws(
        SIZE,
        ENGINE,
        model="hf://org/M",
        parallelism="tensor=8,pipeline=2",
        priority="Critical",
        strategy="prefix-cache",
        service=name,
        **notes,
    )
    made["metadata"]["name"] = name
    return made


def of_annotations(edit: Edit, _stored: Object) -> Object:
    """Return the merge patch of the annotations, and of the template."""
    notes = {PREFIX + key: value for key, value in edit.annotations.items()}
    group = {"spec": {"leaderWorkerTemplate": {"workerTemplate": edit.template}}} if edit.template else {}
    return {"metadata": {"annotations": notes}, **group}


def service(name: str, adapted: bool) -> Object:  # noqa: FBT001 - called by position
    """Return an InferenceService with all blocks."""
    role = worker(multinode=None, parallelism={"tensor": 8, "pipeline": 2}, template=ENGINE)
    made = isvc(role, router(), name=name)
    made["spec"] |= {"model": {"uri": "hf://org/M"}, "priority": "Critical"}
    if adapted:
        made["spec"]["lora"] = {"adapters": [ADAPTER]}
    return made


def of_spec(edit: Edit, stored: Object) -> Object:
    """Return the merge patch of the spec, with all roles."""
    roles = copy.deepcopy(stored["spec"]["roles"])
    roles[0] |= edit.role | ({"template": edit.template} if edit.template else {})
    return {
        "spec": {**edit.spec, "roles": [{k: v for k, v in one.items() if v is not None} for one in roles]}
    }


def of_service(stored: Object) -> Object:
    """Return the LeaderWorkerSet of an InferenceService."""
    found, _ = read(stored)
    assert found is not None
    (member,) = leader_worker_sets(found)
    return member


INPUTS: Final = {
    "LeaderWorkerSet": Input("leaderworkersets", annotated, of_annotations, "x", lambda obj: obj),
    "InferenceService": Input("inferenceservices", service, of_spec, "x-inference", of_service),
}


def merged(value: Any, change: Any) -> Any:
    """Return a JSON value after a merge patch (RFC 7386)."""
    if not isinstance(change, dict):
        return change
    base = dict(value) if isinstance(value, dict) else {}
    for key, item in change.items():
        base[key] = merged(base.get(key), item)
        if base[key] is None:
            del base[key]
    return base


def templates(live: Object) -> Object:
    """Return both pod templates, without what the API server adds: the engines and the volumes."""
    found = {}
    for field, one in live["spec"]["leaderWorkerTemplate"].items():
        if field.endswith("Template"):
            spec = one["spec"]
            parts = ("name", "command", "args", "env", "volumeMounts", "resources")
            engines = [{part: each.get(part) for part in parts} for each in spec["containers"]]
            inits = [(each["name"], each.get("args")) for each in spec.get("initContainers", ())]
            found[field] = (engines, inits, [each["name"] for each in spec.get("volumes", ())])
    return found


TRIED: Final = [
    (kind, name)
    for row, kind in enumerate(INPUTS)
    for column, name in enumerate(EDITS)
    if tiers.WHOLE or (row + column) % len(INPUTS) == 0
]
"""Each edit of one kind of input; `make soak SOAK=edits` tries both."""


@pytest.mark.parametrize(("kind", "name"), TRIED)
def test_an_edit_restarts_what_it_concerns_once(
    fusioninfer: Cluster, namespace: str, kind: str, name: str
) -> None:
    there, edit, api = INPUTS[kind], EDITS[name], fusioninfer.api
    file = there.make("x", name != "lora-added")
    for each in (file, there.make(OTHER, False)):
        create(api, path(there.resource, namespace), each)
    before = started(fusioninfer, namespace, there.member)
    bystander = started(fusioninfer, namespace, there.member.replace("x", OTHER))
    change = there.change(edit, file)

    patch(api, path(there.resource, namespace, "x"), change)

    wanted = templates(expanded(there.rendered(merged(file, change))))
    where = path("leaderworkersets", namespace, there.member)
    becomes(lambda: templates(get(api, where)), wanted)
    after = restarted(fusioninfer, namespace, there.member, before) if edit.restarts else before
    caught_up(fusioninfer, namespace)
    now = rollout(fusioninfer, namespace, there.member)
    assert now.pods == after.pods
    assert len(now.revisions - before.revisions) == edit.restarts
    assert rollout(fusioninfer, namespace, there.member.replace("x", OTHER)).pods == bystander.pods


def restarted(cluster: Cluster, namespace: str, name: str, before: Rollout) -> Rollout:
    """Wait until leader and worker are others than before."""

    def others() -> Rollout | None:
        now = rollout(cluster, namespace, name)
        uids = set(now.pods.values())
        return now if len(uids) == SIZE and uids.isdisjoint(before.pods.values()) else None

    found = until(others, "every pod is replaced")
    assert found is not None
    return found
