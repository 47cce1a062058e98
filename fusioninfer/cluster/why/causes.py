"""All causes, layer by layer: what comes later in the start of a service waits for what comes before."""

from collections.abc import Iterator
from typing import Final

from fusioninfer.cluster.why.admission import admission, controller, rules
from fusioninfer.cluster.why.case import Case, Cause, cause
from fusioninfer.cluster.why.pods import pods
from fusioninfer.cluster.why.scheduling import scheduling, workload
from intent.names import picker_name
from sync.kinds import ROUTES
from sync.observed.pod import project
from sync.status.conditions import is_ready
from sync.status.reasons import STATES
from sync.status.routes import routes_ready


def routes(case: Case) -> Iterator[Cause]:
    """Return why requests cannot come in; nothing if a kind of routes cannot be read."""
    verdict = routes_ready(case.observed)
    is_known = not any(case.live.answer(kind).unknown for kind in ROUTES)
    is_ready = STATES["RoutesReady", verdict.reason] == "True" or verdict.reason == "NotObserved"
    if is_known and not is_ready:
        yield cause(verdict.reason, case.title, f"{verdict.message}{_picker(case, verdict.reason)}")


def _picker(case: Case, reason: str) -> str:
    """Return why a pod of the endpoint picker fails; empty if none does."""
    prefix = f"{picker_name(case.service)}-"
    for seen in map(project, case.pods if reason == "PickerNotAvailable" else ()):
        if seen.failure and seen.name.startswith(prefix):
            return f"; pod {seen.name}: {seen.failure.reason}: {seen.failure.message}"
    return ""


CAUSES: Final = (admission, rules, controller, workload, scheduling, pods, routes)
"""The layers, in the order in which a service starts."""


def causes(case: Case) -> tuple[Cause, ...]:
    """Return all causes, the dominant one first; none if the service serves with all replicas."""
    all_causes = [one for layer in CAUSES for one in layer(case)]
    verdict = is_ready(case.observed)
    if not any(one.effect == "blocks" for one in all_causes) and STATES["Ready", verdict.reason] != "True":
        all_causes.append(cause(verdict.reason, case.title, verdict.message))
    return tuple(sorted(all_causes, key=lambda one: one.effect != "blocks"))
