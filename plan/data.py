"""A plan as JSON."""

from typing import Any

from plan.forecast import Forecast
from plan.progress import Standing
from plan.rows import capacity, status


def as_data(plan: Forecast) -> dict[str, Any]:
    """Render a plan; every step is a row, also where nothing changes. A number that is not known is null."""
    return {
        "complete": plan.complete,
        "rows": [
            {
                "nodes": step.nodes,
                "gpus": step.accelerators,
                "services": [*map(_service, step.standings)],
            }
            for step in plan.steps
        ],
        "waiting": list(plan.waiting),
        "next": [
            {"nodes": each.nodes, "like": each.shape, "starts": list(each.starts)} for each in plan.further
        ],
        "idle": {"gpus": None if plan.unknown else plan.idle},
        "notes": list(plan.notes),
    }


def _service(standing: Standing) -> dict[str, Any]:
    roles = zip(standing.workload.roles, standing.started, strict=True)
    return {
        "namespace": standing.workload.namespace,
        "name": standing.workload.name,
        "scheduled": [role.label(group) for role, count in roles for group in role.order[:count]],
        "uncertain": standing.labels(standing.uncertain),
        "capacity": capacity(standing),
        "status": status(standing),
    }
