"""What chaos may not leave behind is seen: extra and missing objects, pods and owners, pods started anew."""

from dataclasses import replace
from typing import Any

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


def test_a_correct_state_has_no_problems() -> None:
    assert wrong(remains(*WHOLE)) == []


def test_another_value_is_seen() -> None:
    said = wrong(remains(*WHOLE, groups=(pod_group(minimum=4),)))

    assert said == ["podgroups/svc spec.minMember: should be 2, is 4"]


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


def test_a_missing_object_is_seen() -> None:
    (said,) = wrong(remains(*WHOLE, groups=()))

    assert said.startswith("podgroups/svc : should be {'spec'")


def test_an_owner_that_is_gone_is_seen() -> None:
    said = wrong(remains(*WHOLE, groups=(pod_group(owner="gone"),)))

    assert said == ["podgroups/svc has no owner that exists: ['gone']"]


def test_a_pod_too_many_is_seen() -> None:
    said = wrong(remains(*WHOLE, pod("svc-1")))

    assert said == ["pods/svc-1: should be 0, is 1"]


def test_a_missing_pod_is_seen() -> None:
    assert wrong(remains(WHOLE[0])) == ["pods/svc-0-1: should be 1, is 0"]


def test_a_pod_that_waits_is_seen() -> None:
    assert wrong(remains(WHOLE[0], pod("svc-0-1", node=""))) == [
        "pods/svc-0-1 waits, though there is capacity"
    ]


def test_a_pod_that_is_being_deleted_is_seen() -> None:
    said = wrong(remains(WHOLE[0], pod("svc-0-1", deletionTimestamp="now")))

    assert said == ["pods/svc-0-1 is being deleted"]


def test_pods_of_another_command_are_seen() -> None:
    templates: Any = {"workerTemplate": template(seed=1)}

    assert wrong(remains(*WHOLE, **templates), **templates) == [
        "pods/svc-0 is of a template that was changed",
        "pods/svc-0-1 is of a template that was changed",
    ]


def test_pods_of_another_role_are_seen() -> None:
    templates: Any = {"leaderTemplate": template(), "workerTemplate": template("another")}

    said = wrong(remains(*WHOLE, **templates), **templates)

    assert said == ["pods/svc-0-1 is of a template that was changed"]


def test_a_leader_is_of_its_own_template() -> None:
    templates: Any = {"leaderTemplate": template(seed=1)}

    said = wrong(remains(*WHOLE, **templates), **templates)

    assert said == ["pods/svc-0 is of a template that was changed"]


def test_a_pod_that_was_started_anew_is_seen() -> None:
    said = restarted({"svc-0": "1", "svc-0-1": "0"}, remains(*WHOLE), (SERVICE,))

    assert said == ["pods/svc-0-1 was started anew"]


def test_a_changed_command_starts_pods_anew() -> None:
    said = restarted({"svc-0": "0", "svc-0-1": "0"}, remains(*WHOLE), (replace(SERVICE, restarted=True),))

    assert said == []
