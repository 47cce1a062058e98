"""Expanded LeaderWorkerSets and PodGroups as the input of a plan."""

from typing import Any

import pytest

from fusioninfer.lint import offline
from fusioninfer.lint.documents import Document
from intent import Object
from intent.annotations import REVISION
from intent.gang import NO_GANG
from intent.settings import Settings
from plan.amounts import PlanError
from plan.forecast import forecast
from plan.workload import NO_POD_GROUP, Workload, workloads
from tests.builders.lws import container, lws, template
from tests.plan.workloads import nodes


def planned(*objects: Object, pods: tuple[Object, ...] = ()) -> tuple[Workload, ...]:
    """Return the workloads of objects as an author writes them."""
    documents = [Document("f.yaml", at, one) for at, one in enumerate(objects)]
    return workloads(offline.compose(documents, Settings()).objects, pods)


def named(
    name: str, replicas: int | None = 1, size: int = 2, worker: Any = None, **annotations: Any
) -> Object:
    """Return an annotated LeaderWorkerSet."""
    made = lws(size, worker, launcher="none", **annotations)
    made["metadata"] |= {"name": name, "namespace": "llm"}
    made["spec"]["replicas"] = replicas
    if replicas is None:
        del made["spec"]["replicas"]
    return made


def test_the_members_of_a_gang_are_one_workload() -> None:
    (one,) = planned(named("p", component_type="prefiller"), named("d", 3, 4, component_type="decoder"))

    assert (one.title, one.is_gang, one.waits) == ("llm/svc", True, "")
    found = [(role.member.role_name, role.member.size) for role in one.roles]
    assert found == [("prefill", 2), ("decode", 4)]
    assert (one.groups, one.required) == ({0: 1, 1: 3}, {0: 1, 1: 1})


def test_each_revision_is_a_gang_of_its_own() -> None:
    kinds = ("prefiller", "decoder") * 2
    sets = [named(f"{kind}-{at}", component_type=kind) for at, kind in enumerate(kinds)]
    for at, one in enumerate(sets):
        one["metadata"]["labels"] = {REVISION: f"{at // 2}a1b2c3d"}

    assert [one.title for one in planned(*sets)] == ["llm/svc-0a1b2c3d", "llm/svc-1a1b2c3d"]


def test_a_service_without_all_roles_has_no_pod_group() -> None:
    (one,) = planned(named("p", component_type="prefiller"))

    assert one.waits == NO_POD_GROUP


def test_another_scheduler_is_not_modelled() -> None:
    (one,) = planned(named("w", scheduler_name="other"))

    assert {pod.unmodelled for pod in one.roles[0].shapes} == {("scheduler other",)}


def test_groups_of_several_pods_in_no_gang_are_promised_together() -> None:
    (single,), (several,) = planned(named("w", 2, 1)), planned(named("w", 2, 3, scheduler_name=NO_GANG))

    assert [one.is_gang for one in (single, several)] == [False, False]
    assert [one.roles[0].required for one in (single, several)] == [0, 2]


def test_a_role_without_replicas_is_not_required_after_a_minute() -> None:
    (one,) = planned(named("p", 0, component_type="prefiller"), named("d", component_type="decoder"))

    assert [role.required for role in one.roles] == [0, 1]


def test_a_role_without_replicas_of_a_revision_keeps_the_others_waiting() -> None:
    sets = named("p", component_type="prefiller"), named("d", 0, component_type="decoder")
    for each in sets:
        each["metadata"]["labels"] = {REVISION: "0a1b2c3d"}

    (one,) = planned(*sets)

    assert forecast([one], nodes("10x8")).waiting == ("prefill: decode must start too, and has replicas 0",)


def test_a_role_without_replicas_has_one() -> None:
    (one,) = planned(named("w", None))

    assert one.roles[0].member.replicas == 1


def test_priority_comes_from_the_class_of_the_templates() -> None:
    ranked = template(container(), priorityClassName="high")
    value = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }

    (known,), (unknown,) = planned(named("w", worker=ranked), value), planned(named("w", worker=ranked))

    assert (known.priority, known.unmodelled) == (9, ())
    assert (unknown.priority, unknown.unmodelled) == (0, ("the value of PriorityClass high",))


def there(name: str, group: int, index: int, **metadata: Any) -> Object:
    """Return a pod of a LeaderWorkerSet on a node."""
    labels = {
        "leaderworkerset.sigs.k8s.io/name": name,
        "leaderworkerset.sigs.k8s.io/group-index": str(group),
        "leaderworkerset.sigs.k8s.io/worker-index": str(index),
    }
    return {"metadata": {"namespace": "llm", "labels": labels} | metadata, "spec": {"nodeName": "n"}}


def test_groups_whose_pods_are_all_on_nodes_have_started_unless_one_ends() -> None:
    ending = there("w", 2, 1, deletionTimestamp="2026-01-01T00:00:00Z")
    pods = (*(there("w", 1, index) for index in (0, 1)), there("w", 2, 0), ending)

    (one,) = planned(named("w", 3), pods=(*pods, {"metadata": {}, "spec": {"nodeName": "n"}}))

    assert one.roles[0].whole == 1


def test_a_leaderworkerset_of_no_service_is_planned_too() -> None:
    plain = named("w", 2)
    del plain["metadata"]["annotations"]

    (one,) = planned(plain)

    assert (one.title, one.is_gang, one.groups, one.required) == ("llm/w", False, {0: 2}, {0: 2})


@pytest.mark.parametrize("fields", [{"size": 0}, {"size": -1}, {"replicas": -1}])
def test_counts_that_a_leaderworkerset_without_a_service_cannot_have_are_an_error(
    fields: dict[str, int],
) -> None:
    plain = named("w", **fields)
    del plain["metadata"]["annotations"]

    with pytest.raises(PlanError, match="LeaderWorkerSet w: `size` is at least 1, and `replicas` at least 0"):
        planned(plain)


@pytest.mark.parametrize("fields", [{"replicas": 10**9}, {"replicas": 20_000, "size": 4}])
def test_too_many_pods_are_an_error_that_names_the_limit(fields: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="more than 20000 pods are not planned"):
        planned(named("w", **fields))
