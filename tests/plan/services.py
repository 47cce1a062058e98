"""Services and nodes for tests of plans, with as few words as a case needs."""

from dataclasses import replace
from typing import Any

from intent import Object
from plan.demand import Demand, demand
from plan.supply import Supply, parse_shapes
from plan.workload import RolePods, Workload

GPU = "nvidia.com/gpu"


def pod(gpus: int = 8, **spec: Any) -> Demand:
    """Return what a pod with one container asks for."""
    return demand(template(gpus, **spec))


def template(gpus: int = 8, **spec: Any) -> Object:
    """Return a pod template with one container."""
    limits = {GPU: str(gpus)} if gpus else {}
    return {"spec": {"containers": [{"name": "c", "resources": {"limits": limits}}], **spec}}


def role(name: str, size: int = 1, replicas: int = 1, gpus: int = 8, **others: Any) -> RolePods:
    """Return a role; `required` is 1 unless given."""
    each = others.pop("pod", None) or pod(gpus)
    kinds = {"prefill": "prefiller", "decode": "decoder"}
    component: Any = kinds.get(name.rpartition("-")[2], "worker")
    return RolePods(name, name, component, size, replicas, each, each, **{"required": 1, **others})


def gang(name: str, *roles: RolePods, **others: Any) -> Workload:
    """Return the workload of a gang."""
    minimum = sum(one.required * one.size for one in roles)
    return Workload("", name, roles, gang=name, min_member=minimum, created=name, **others)


def ungrouped(name: str, *roles: RolePods) -> Workload:
    """Return a workload of pods in no gang."""
    return Workload("", name, tuple(replace(one, required=0) for one in roles), created=name)


def nodes(shapes: str) -> tuple[Supply, ...]:
    """Return nodes of the short form."""
    return parse_shapes(shapes, [GPU])
