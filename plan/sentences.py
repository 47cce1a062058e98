"""The sentences of a plan: what waits for what, what further nodes would start, and what is idle."""

from collections.abc import Iterable, Iterator

from intent.errors import counted
from plan.forecast import Forecast, Shortage, WorkloadGroup

MOST_NAMES = 8
"""The most groups that are listed by name."""
MOST_SHORTAGES = 20


def names(plan: Forecast, keys: Iterable[WorkloadGroup]) -> str:
    """Return the names of groups with their services; of many, the first ones and their number."""
    found = [_name(plan, key) for key in keys]
    listed = ", ".join(found[:MOST_NAMES])
    return listed if len(found) <= MOST_NAMES else f"{listed} and {len(found) - MOST_NAMES} more"


def _name(plan: Forecast, key: WorkloadGroup) -> str:
    one = plan.workloads[key[0]]
    label = one.label(key[1])
    return label if len(plan.workloads) == 1 else f"{short(plan, key[0])}/{label}"


def size(plan: Forecast, at: int) -> str:
    """Return how large a service is: the title of its table."""
    one = plan.workloads[at]
    gpus = counted(sum(plan.accelerators((at, key)) for key in one.groups), "GPU")
    return f"{one.title}: {counted(len(one.groups), 'group')}, {'GPUs not known' if one.unknown else gpus}"


def short(plan: Forecast, at: int) -> str:
    """Return the name of a service; with its namespace if the services are in several."""
    one = plan.workloads[at]
    return one.name if len({each.namespace for each in plan.workloads}) == 1 else one.title


def waiting(plan: Forecast) -> Iterator[str]:
    """Yield why groups wait, one sentence for each service."""
    for one in plan.shortages[:MOST_SHORTAGES]:
        yield _waiting(plan, one)
    if (more := len(plan.shortages) - MOST_SHORTAGES) > 0:
        yield f"{more} more services wait"


def _waiting(plan: Forecast, one: Shortage) -> str:
    return f"{room(plan, one)}; {one.reason}" if one.pods and one.reason else room(plan, one)


def room(plan: Forecast, one: Shortage) -> str:
    """Return which groups wait, and how many of their pods have room."""
    groups = names(plan, ((one.workload, key) for key in one.groups))
    if not one.pods:
        return f"{groups}: {one.reason}"
    together = "must start together" if len(one.groups) > 1 else "waits"
    return f"{groups} {together}: {one.fit} of {one.pods} pods have room"


def further(plan: Forecast) -> Iterator[str]:
    """Yield what further nodes would start, one sentence for each shape."""
    for one in plan.further:
        nodes = counted(one.tried, "more node") if one.tried else "more nodes"
        starts = names(plan, one.starts) if one.starts else "nothing"
        yield f"{nodes} with {one.shape} would start {starts}"


def idle(plan: Forecast) -> str:
    """Return what is free at the end."""
    if plan.unknown:
        return "idle GPUs: not known"
    return f"idle GPUs: {'up to ' * bool(plan.steps[-1].uncertain and plan.idle)}{plan.idle}"


def lists(plan: Forecast) -> dict[str, tuple[str, ...]]:
    """Return the sentences below the tables, by title."""
    return {
        "Waiting": tuple(waiting(plan)),
        "Further nodes": tuple(further(plan)),
        "Idle": (idle(plan),),
        "Notes": plan.notes,
    }
