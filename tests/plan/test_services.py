"""Expanded LeaderWorkerSets and PodGroups as the input of a plan."""

from typing import Any

import pytest

from fusioninfer.lint import offline
from fusioninfer.lint.documents import Document
from intent import Object
from intent.annotations import REVISION, SLICE
from intent.settings import Settings
from plan.services import NO_POD_GROUP, TooManyPodsError, workloads
from plan.workload import Workload
from tests.builders.lws import container, lws, template


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
    found = planned(named("p", component_type="prefiller"), named("d", 3, 4, component_type="decoder"))

    (one,) = found
    assert (one.title, one.gang, one.min_member) == ("llm/svc", "svc", 6)
    assert [(role.role, role.component, role.size, role.replicas, role.required) for role in one.roles] == [
        ("prefill", "prefiller", 2, 1, 1),
        ("decode", "decoder", 4, 3, 1),
    ]


def test_a_later_slice_has_the_name_of_its_gang() -> None:
    sets = [
        named(f"{kind}-{part}", component_type=kind) for part in "01" for kind in ("prefiller", "decoder")
    ]
    for at, one in enumerate(sets):
        one["metadata"]["labels"] = {REVISION: "0a1b2c3d", SLICE: str(at // 2)}

    assert [(one.title, one.gang) for one in planned(*sets)] == [
        ("llm/svc", "svc-0a1b2c3d"),
        ("llm/svc.1.0a1b2c3d", "svc.1.0a1b2c3d"),
    ]


def test_a_service_without_all_roles_has_no_pod_group() -> None:
    (one,) = planned(named("p", component_type="prefiller"))

    assert one.waits == (NO_POD_GROUP,)


def test_a_pod_of_no_gang_is_placed_by_itself() -> None:
    (one,) = planned(named("w", 2, 1))

    assert (one.gang, one.waits, one.roles[0].required) == ("", (), 0)


def test_services_keep_the_order_of_their_files() -> None:
    first, second = named("z", service="z"), named("a", service="a")

    assert [one.name for one in sorted(planned(first, second), key=lambda one: one.created)] == ["z", "a"]


def test_a_role_without_replicas_is_not_required_after_a_minute() -> None:
    (one,) = planned(named("p", 0, component_type="prefiller"), named("d", component_type="decoder"))

    assert ([role.required for role in one.roles], one.min_member) == ([0, 1], 2)


def test_replicas_that_an_autoscaler_sets_are_counted_as_one_with_a_note() -> None:
    (one,) = planned(named("w", None))

    assert one.roles[0].replicas == 1
    assert "an autoscaler may set another number" in one.notes[0]


def test_pods_that_serve_are_a_note_unless_they_are_leaders_on_one_port() -> None:
    asked = container(args=["M", "-dp", "16", "-dpl", "8", "--data-parallel-multi-port-external-lb"])
    (one,) = planned(named("w", worker=template(asked)))

    assert one.notes == ("w: every pod serves, on ports 8000 to 8007",)


def test_priority_comes_from_the_class_of_the_templates() -> None:
    ranked = template(container(), priorityClassName="high")
    value = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }

    (known,), (unknown,) = planned(named("w", worker=ranked), value), planned(named("w", worker=ranked))

    assert (known.priority, unknown.priority) == (9, 0)
    assert "the value of PriorityClass high is not known; 0 is assumed" in unknown.notes


def test_pods_on_nodes_are_bound_unless_they_end() -> None:
    def pod(index: int, **metadata: Any) -> Object:
        labels = {
            "leaderworkerset.sigs.k8s.io/name": "w",
            "leaderworkerset.sigs.k8s.io/group-index": "1",
            "leaderworkerset.sigs.k8s.io/worker-index": str(index),
        }
        return {"metadata": {"namespace": "llm", "labels": labels} | metadata, "spec": {"nodeName": "n"}}

    there = (
        pod(0),
        pod(1, deletionTimestamp="2026-01-01T00:00:00Z"),
        {"metadata": {}, "spec": {"nodeName": "n"}},
    )

    (one,) = planned(named("w", 2), pods=there)

    assert one.roles[0].bound == {(1, 0)}


@pytest.mark.parametrize("fields", [{"replicas": 10**9}, {"replicas": 20_000, "size": 4}])
def test_too_many_pods_are_an_error_that_names_the_limit(fields: dict[str, Any]) -> None:
    with pytest.raises(TooManyPodsError, match=r"are (not )?planned"):
        planned(named("w", **fields))
