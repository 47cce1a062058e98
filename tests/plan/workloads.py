"""Workloads and nodes for tests of plans, with as few words as a case needs."""

from dataclasses import replace
from typing import Any

from intent import Object
from intent.service.member import Member
from plan.amounts import CPU, MEMORY, PODS, UNIT, Amounts
from plan.demand import PodShape, pod_shape
from plan.forecast import ForecastStep
from plan.supply import Supply, parse_shapes
from plan.workload import Groups, RolePods, Workload

GPU = "nvidia.com/gpu"


def pod(gpus: int = 8, cpu: int = 0, **spec: Any) -> PodShape:
    """Return a pod with one container."""
    return pod_shape(template(gpus, cpu, **spec))


def template(gpus: int = 8, cpu: int = 0, **spec: Any) -> Object:
    """Return a pod template with one container."""
    limits = {name: str(amount) for name, amount in ((GPU, gpus), (CPU, cpu)) if amount}
    return {"spec": {"containers": [{"name": "c", "resources": {"limits": limits}}], **spec}}


def role(name: str, size: int = 1, replicas: int = 1, gpus: int = 8, **others: Any) -> RolePods:
    """Return a role; `required` is 1 unless given."""
    each = others.pop("pod", None) or pod(gpus)
    shapes = (others.pop("leader", None) or each, each)[:size]
    kinds = {"prefill": "prefiller", "decode": "decoder"}
    component: Any = kinds.get(name.rpartition("-")[2], "worker")
    member = Member("", name, "", component, name, size=size, replicas=replicas)
    return RolePods(member, shapes, **{"required": 1, **others})


def gang(name: str, *roles: RolePods, **others: Any) -> Workload:
    """Return the workload of a gang."""
    return Workload("", name, roles, **others)


def ungrouped(name: str, role: RolePods) -> Workload:
    """Return a workload of pods in no gang."""
    required = role.member.replicas if role.member.size > 1 else 0
    return Workload("", name, (replace(role, required=required),), is_gang=False)


def started(step: ForecastStep) -> set[str]:
    """Return the groups that have started: `service/group`."""
    return {
        f"{standing.workload.name}/{label}"
        for standing in step.standings
        for label in standing.workload.labels(standing.started, Groups())
    }


def machine(gpus: int = 8, cpu: int = 64, memory: int = 512 * 2**30, **labels: str) -> Supply:
    """Return a node of which everything is known."""
    room = {GPU: gpus, CPU: cpu, MEMORY: memory, PODS: 110}
    return Supply(Amounts({name: UNIT * amount for name, amount in room.items()}), labels=labels)


def nodes(shapes: str) -> tuple[Supply, ...]:
    """Return nodes of the short form."""
    return parse_shapes(shapes, [GPU])
