"""A plan as JSON."""

from typing import Any

from plan.forecast import Forecast, ForecastStep, WorkloadGroup
from plan.supply import shape
from plan.words import capacity, status


def as_data(plan: Forecast) -> dict[str, Any]:
    """Render a plan; every step is a row, also where nothing changes. A number that is not known is null."""
    return {
        "complete": plan.complete,
        "services": [_service(plan, at) for at in range(len(plan.workloads))],
        "nodes": [{"name": one.name, "labels": dict(one.labels), "has": shape(one)} for one in plan.nodes],
        "rows": [_row(plan, step) for step in plan.steps],
        "waiting": [
            {
                "service": plan.workloads[one.workload].name,
                "namespace": plan.workloads[one.workload].namespace,
                "groups": [plan.workloads[one.workload].label(key) for key in one.groups],
                "pods": one.pods,
                "fit": one.fit,
                "reason": one.reason,
            }
            for one in plan.shortages
        ],
        "next": [
            {"nodes": one.tried, "like": one.shape, "starts": [_group(plan, key) for key in one.starts]}
            for one in plan.further
        ],
        "idle": {"gpus": None if plan.unknown else plan.idle},
        "notes": list(plan.notes),
    }


def _service(plan: Forecast, at: int) -> dict[str, Any]:
    one = plan.workloads[at]
    return {
        "namespace": one.namespace,
        "name": one.name,
        "podGroup": one.gang,
        "priority": one.priority,
        "roles": [
            {
                "name": role.role,
                "leaderWorkerSet": role.name,
                "componentType": role.component,
                "size": role.size,
                "replicas": role.replicas,
                "required": role.required,
                "gpusOfAGroup": None if one.unknown else plan.accelerators((at, (number, 0))),
            }
            for number, role in enumerate(one.roles)
        ],
    }


def _group(plan: Forecast, key: WorkloadGroup) -> dict[str, Any]:
    one = plan.workloads[key[0]]
    return {"namespace": one.namespace, "service": one.name, "group": one.label(key[1])}


def _row(plan: Forecast, step: ForecastStep) -> dict[str, Any]:
    services = []
    for at, one in enumerate(plan.workloads):
        services.append(
            {
                "name": one.name,
                "namespace": one.namespace,
                "scheduled": [one.label(key) for key in one.groups if (at, key) in step.started],
                "uncertain": [one.label(key) for key in one.groups if (at, key) in step.uncertain],
                "capacity": capacity(plan, step, at),
                "status": status(plan, step, at),
            }
        )
    return {"nodes": step.nodes, "gpus": step.accelerators, "services": services}
