"""The status of a service with some number of nodes, in the words of the core design's capacity tables."""

from typing import Final

from plan.forecast import Forecast, ForecastStep
from plan.workload import GroupKey, Workload

LETTERS: Final = {"prefiller": "P", "decoder": "D", "worker": "W", "encoder": "E"}
SCHEDULED: Final = "scheduled"
PENDING: Final = "pending"
UNCERTAIN: Final = "uncertain"
NOT_KNOWN: Final = "not known"


def mark(plan: Forecast, step: ForecastStep, at: int, key: GroupKey) -> str:
    """Return whether a group of a workload has started."""
    if (at, key) in step.started:
        return SCHEDULED
    if plan.workloads[at].unknown:
        return NOT_KNOWN
    return UNCERTAIN if (at, key) in step.uncertain else PENDING


def capacity(plan: Forecast, step: ForecastStep, at: int) -> int | None:
    """Return the percentage of the groups of a workload that have started; None if it is not known."""
    count, has = len(plan.workloads[at].groups), sum(started(plan, step, at))
    if plan.workloads[at].unknown and has < count:
        return None
    return 100 * has // count if count else 100


def started(plan: Forecast, step: ForecastStep, at: int) -> list[int]:
    """Return how many groups of each role of a workload have started."""
    return [step.counts[at, role] for role in range(len(plan.workloads[at].roles))]


def status(plan: Forecast, step: ForecastStep, at: int) -> str:
    """Return the status of a workload."""
    one = plan.workloads[at]
    counts = started(plan, step, at)
    if sum(counts) == len(one.groups):
        return "Full capacity" if one.groups else "No replicas"
    if one.unknown:
        return "Not known"
    if one.waits:
        return "Waiting (no PodGroup)"
    if any(counts):
        return f"Partial ({_counted(one, counts)})"
    if any(workload == at for workload, _ in step.uncertain):
        return "Uncertain"
    return _blocked(one, dict(step.alone).get(at))


def _blocked(one: Workload, alone: frozenset[int] | None) -> str:
    """Return the status of a workload of which nothing has started."""
    needed = [at for at, role in enumerate(one.roles) if role.required]
    if not alone or len(needed) < 2:
        return "Service unavailable"
    if len(alone) == len(needed):
        return f"Blocked (can't satisfy {_letters(one, [role.required for role in one.roles])} together)"
    return f"Blocked (only enough for {' or '.join(one.roles[at].role for at in sorted(alone))})"


def _counted(one: Workload, counts: list[int]) -> str:
    if len(one.roles) == 1:
        return f"{counts[0]} of {one.roles[0].replicas}"
    return _letters(one, counts)


def _letters(one: Workload, counts: list[int]) -> str:
    """Return counts by kind of role: `1P + 2D`."""
    by_letter = dict.fromkeys(LETTERS.values(), 0)
    for role, count in zip(one.roles, counts, strict=True):
        by_letter[LETTERS[role.component]] += count
    present = {LETTERS[role.component] for role in one.roles}
    return " + ".join(f"{count}{letter}" for letter, count in by_letter.items() if letter in present)
