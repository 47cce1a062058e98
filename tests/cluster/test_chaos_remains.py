"""What chaos may not leave behind is seen: extra and missing objects, pods and owners, pods started anew."""

from dataclasses import replace
from typing import Any, Final

import pytest

from intent import Object
from intent.annotations import ROLES
from tests.cluster.chaos.people import Service
from tests.cluster.chaos.remains import KEPT, Remains, problems, restarted

SERVICE = Service("svc", "workers", there=True, restarted=False)
OURS = [{"manager": "fusioninfer", "operation": "Apply"}]
ROLE = "fusioninfer.io/role-name"
PREFIX = "leaderworkerset.sigs.k8s.io/"


def template(role: str = "worker", seed: int = 0) -> Object:
    containers = [{"name": "engine", "image": "i", "args": ["--seed", str(seed)]}]
    return {"metadata": {"labels": {ROLE: role}}, "spec": {"containers": containers}}


def lws(name: str = "svc", replicas: int = 1, **templates: Any) -> Object:
    both = {"size": 2, "workerTemplate": template(), **templates}
    spec = {"replicas": replicas, "leaderWorkerTemplate": both}
    labels = {"fusioninfer.io/service": name}
    metadata = {"name": name, "uid": f"uid-{name}", "labels": labels}
    return {"kind": "LeaderWorkerSet", "metadata": metadata, "spec": spec}


def pod(name: str, uid: str = "1", node: str = "gpu-0", **more: Any) -> Object:
    index = name.removeprefix("svc-0").removeprefix("-") or "0"
    labels = {PREFIX + "name": "svc", PREFIX + "worker-index": index, ROLE: "worker"}
    metadata = {"name": name, "uid": uid, "labels": labels, "ownerReferences": [{"uid": "uid-svc"}], **more}
    return {"kind": "Pod", "metadata": metadata, "spec": {**template()["spec"], "nodeName": node}}


def pod_group(owner: str = "uid-svc", minimum: int = 2) -> Object:
    owners = [{"uid": owner}]
    metadata = {"name": "svc", "uid": "uid-pg", "managedFields": OURS, "ownerReferences": owners}
    return {"kind": "PodGroup", "metadata": metadata, "spec": {"minMember": minimum}}


def remains(*pods: Object, groups: tuple[Object, ...] = (pod_group(),), **templates: Any) -> Remains:
    none: dict[str, tuple[Object, ...]] = dict.fromkeys(KEPT, ())
    return Remains({**none, "leaderworkersets": (lws(**templates),), "podgroups": groups, "pods": pods})


def wrong(there: Remains, **templates: Any) -> list[str]:
    wanted = {("leaderworkersets", "svc"): plain(lws(**templates)), ("podgroups", "svc"): plain(pod_group())}
    return problems(there, wanted, (SERVICE,))


def plain(obj: Object) -> Object:
    return {"spec": obj["spec"], "labels": obj["metadata"].get("labels", {}), "annotations": {}}


WHOLE = (pod("svc-0"), pod("svc-0-1"))


CASES: Final[dict[str, tuple[Remains, list[str]]]] = {
    "nothing": (remains(*WHOLE), []),
    "another value": (
        remains(*WHOLE, groups=(pod_group(minimum=4),)),
        ["podgroups/svc spec.minMember: should be 2, is 4"],
    ),
    "a missing object": (remains(*WHOLE, groups=()), ["podgroups/svc : should be {'spec'"]),
    "an owner that is gone": (
        remains(*WHOLE, groups=(pod_group(owner="gone"),)),
        ["podgroups/svc has no owner that exists: ['gone']"],
    ),
    "a pod too many": (remains(*WHOLE, pod("svc-1")), ["pods/svc-1: should be 0, is 1"]),
    "a missing pod": (remains(WHOLE[0]), ["pods/svc-0-1: should be 1, is 0"]),
    "a pod that waits": (
        remains(WHOLE[0], pod("svc-0-1", node="")),
        ["pods/svc-0-1 waits, though there is capacity"],
    ),
    "a pod that is being deleted": (
        remains(WHOLE[0], pod("svc-0-1", deletionTimestamp="now")),
        ["pods/svc-0-1 is being deleted"],
    ),
}
TEMPLATES: Final[dict[str, tuple[dict[str, Any], list[str]]]] = {
    "another command": ({"workerTemplate": template(seed=1)}, ["svc-0", "svc-0-1"]),
    "another role": (
        {"leaderTemplate": template(), "workerTemplate": template("another")},
        ["svc-0-1"],
    ),
    "a leader of its own": ({"leaderTemplate": template(seed=1)}, ["svc-0"]),
}
"""Templates of the set, and the pods that are not of them."""


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said(case: str) -> None:
    there, expected = CASES[case]

    said = wrong(there)

    assert [one[: len(text)] for one, text in zip(said, expected, strict=True)] == expected


@pytest.mark.parametrize("case", TEMPLATES)
def test_pods_of_another_template_are_seen(case: str) -> None:
    templates, pods = TEMPLATES[case]

    said = wrong(remains(*WHOLE, **templates), **templates)

    assert said == [f"pods/{name} is of a template that was changed" for name in pods]


def gang(roles: str, required: int) -> Object:
    sets = [("svc-prefill", 1), ("svc-decode-1", required)]
    policies = [{"name": name, "subGroupSize": 2, "minSubGroups": least} for name, least in sets]
    made = pod_group(minimum=2 + 2 * required)
    made["metadata"]["annotations"] = {ROLES: roles}
    return {**made, "spec": {**made["spec"], "subGroupPolicy": policies}}


@pytest.mark.parametrize(
    ("recorded", "required", "is_right"),
    [
        ("decode-1,prefill", 1, True),
        ("decode-0,prefill", 0, True),
        ("decode-0,prefill", 1, False),
        ("decode-1,prefill", 0, False),
        ("decode-0", 0, False),
    ],
)
def test_a_role_that_was_renamed_after_the_gate_opened_is_not_required(
    recorded: str, required: int, *, is_right: bool
) -> None:
    printed = {**plain(gang("decode-1,prefill", 1)), "annotations": {ROLES: "decode-1,prefill"}}
    wanted = {("leaderworkersets", "svc"): plain(lws()), ("podgroups", "svc"): printed}
    there = remains(*WHOLE, groups=(gang(recorded, required),))

    assert (problems(there, wanted, (SERVICE,)) == []) is is_right


def test_a_pod_that_was_started_anew_is_seen() -> None:
    said = restarted({"svc-0": "1", "svc-0-1": "0"}, remains(*WHOLE), (SERVICE,))

    assert said == ["pods/svc-0-1 was started anew"]


def test_a_changed_command_starts_pods_anew() -> None:
    said = restarted({"svc-0": "0", "svc-0-1": "0"}, remains(*WHOLE), (replace(SERVICE, restarted=True),))

    assert said == []
