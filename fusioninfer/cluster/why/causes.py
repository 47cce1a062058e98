"""All causes, layer by layer: what comes later in the start of a service waits for what comes before."""

from collections.abc import Callable, Iterable
from typing import Final

from fusioninfer.cluster.why.admission import admission, controller, rules
from fusioninfer.cluster.why.case import Case
from fusioninfer.cluster.why.cause import Cause, cause
from fusioninfer.cluster.why.pods import pods
from fusioninfer.cluster.why.routes import routes
from fusioninfer.cluster.why.scheduling import scheduling, workload
from sync.status.conditions import is_ready
from sync.status.reasons import STATES

CAUSES: Final[tuple[Callable[[Case], Iterable[Cause]], ...]] = (
    admission,
    rules,
    controller,
    workload,
    scheduling,
    pods,
    routes,
)
"""The layers, in the order in which a service starts."""


def causes(case: Case) -> tuple[Cause, ...]:
    """Return all causes, the dominant one first; none if the service serves with all replicas."""
    found = [one for layer in CAUSES for one in layer(case)]
    verdict = is_ready(case.observed)
    if not any(one.effect == "blocks" for one in found) and STATES["Ready", verdict.reason] != "True":
        found.append(cause(verdict.reason, case.service, verdict.message))
    return tuple(sorted(found, key=lambda one: one.effect != "blocks"))
