"""Sequences have every client and change, and each law detects an engine that breaks it.

`tests/cluster/test_convergence.py` compares the simulated servers and clients with the real ones.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from intent import Object
from tests.laws.convergence import laws
from tests.laws.convergence.clients import BY_HAND, SCALE, TOOLS
from tests.laws.convergence.files import File, Pod, manifest
from tests.laws.convergence.hands import HANDS
from tests.laws.convergence.server import Engine, allow
from tests.laws.convergence.walk import Sequence, Step, drawn, run
from webhook import review
from webhook.review import AdmissionAnswer

PROBED = File(worker=Pod(probes=("readinessProbe",)))
"""A file whose template is split: workers have no probe."""
APPLY = "client-side apply"


def sequence(*steps: Step, file: File = PROBED, tool: str = APPLY, other: str = "") -> Sequence:
    return Sequence(file, tool, other, steps)


def first_law(one: Sequence, engine: Engine | None = None) -> str:
    return next((found.law for found in run(one, engine).violations), "")


def test_the_generator_draws_every_client_change_and_mapping() -> None:
    sequences = [drawn(1, number) for number in range(400)]
    changes = {step.change for one in sequences for step in one.steps}

    assert {step.client for one in sequences for step in one.steps} == {*TOOLS, *BY_HAND, SCALE}
    assert {one.other for one in sequences} == {"", "before", "after"}
    assert changes >= HANDS.keys()
    assert changes >= {"opted_in", "leader template", "launcher", "size", "export", "the same file"}


CONVERGING = {
    "applied again": sequence(Step(APPLY, "the same file")),
    "another model": sequence(Step(APPLY, "model", "org/M2")),
    "replaced": sequence(Step("replace", "size", 3), tool="replace"),
    "upgraded by helm": sequence(Step("helm", "launcher", "vllm-native"), tool="helm"),
    "opted out and back": sequence(Step(APPLY, "opted_in", False), Step(APPLY, "opted_in", True)),
}


def patched(change: Callable[[list[Object]], list[Object]]) -> Engine:
    """Return an engine that changes the patch of every update, and denies nothing."""

    def mutate(body: bytes) -> AdmissionAnswer:
        answer = review.mutate(body)
        if orjson.loads(body)["request"]["oldObject"] is None:
            return answer
        found: Any = orjson.loads(answer.body)
        response = found["response"]
        operations = orjson.loads(b64decode(response.get("patch", b64encode(b"[]"))))
        response["patch"] = b64encode(orjson.dumps(change(operations))).decode()
        return AdmissionAnswer(orjson.dumps(found), "patched")

    return Engine(mutate, allow)


def without_volumes(operations: list[Object]) -> list[Object]:
    """Mount a volume that is not written."""
    return [one for one in operations if "workerTemplate/spec/volumes" not in one["path"]]


def without_leader(operations: list[Object]) -> list[Object]:
    """Leave the leader's template as it is."""
    return [one for one in operations if "leaderTemplate" not in one["path"]]


def launching_leaders(operations: list[Object]) -> list[Object]:
    """Launch the leader alone."""
    launch = ("workerTemplate/spec/containers/0/args", "workerTemplate/spec/containers/0/command")
    return [one for one in operations if not one["path"].endswith(launch)]


def labelling(operations: list[Object]) -> list[Object]:
    """Write one more label."""
    return [*operations, {"op": "add", "path": "/metadata/labels/more", "value": "x"}]


def nothing(_operations: list[Object]) -> list[Object]:
    """Expand new objects only."""
    return []


def emptied(_operations: list[Object]) -> list[Object]:
    """Write a leader's template without containers."""
    path = "/spec/leaderWorkerTemplate/leaderTemplate"
    return [{"op": "add", "path": path, "value": {"spec": {}}}]


def in_another_order(operations: list[Object]) -> list[Object]:
    """Move the author's second container to the front."""
    path = "/spec/leaderWorkerTemplate/workerTemplate/spec/containers/"
    return [*operations, {"op": "move", "from": f"{path}1", "path": f"{path}0"}]


def replaced(file: File) -> Sequence:
    return sequence(Step("replace", "the same file"), tool="replace", file=file)


BROKEN = {
    "mount without volume": (without_volumes, replaced(File())),
    "image or model differs": (without_leader, CONVERGING["another model"]),
    "launch on one side": (launching_leaders, replaced(PROBED)),
    "converges": (labelling, CONVERGING["applied again"]),
    "refused by the schema": (emptied, CONVERGING["another model"]),
    "order": (in_another_order, replaced(File(worker=Pod(sidecar=True)))),
}


@pytest.mark.parametrize("law", BROKEN)
def test_a_law_detects_an_engine_that_breaks_it(law: str) -> None:
    change, broken = BROKEN[law]

    assert first_law(broken) == ""
    assert first_law(broken, patched(change)) == law


@pytest.mark.parametrize("name", ["another model", "opted out and back", "replaced", "upgraded by helm"])
def test_an_engine_that_expands_new_objects_only_is_detected(name: str) -> None:
    assert first_law(CONVERGING[name], patched(nothing)) != ""


def test_a_violation_by_the_author_is_none() -> None:
    file = manifest(File(worker=Pod(), leader=Pod(model="org/M2")))

    assert laws.violation(file, None)[0] == "image or model differs"
    assert laws.violation(file, file) == ("", "")


def test_a_mount_of_which_an_apply_removed_the_name_has_no_volume() -> None:
    sent = manifest(File())
    sent["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["volumeMounts"] = [
        {"mountPath": "/dev/shm"}  # noqa: S108 - as in the object
    ]

    assert laws.mounts(sent) == "workerTemplate: vllm mounts None, which is no volume"
