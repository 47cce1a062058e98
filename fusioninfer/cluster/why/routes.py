"""Causes in the routes: what the condition `RoutesReady` says, and pods of the endpoint picker."""

from collections.abc import Iterator
from typing import Final

from fusioninfer.cluster.why.case import Case
from fusioninfer.cluster.why.cause import Cause, cause
from intent.names import picker_name
from sync.kinds import GATEWAYS, ROUTES
from sync.observed.pod import project
from sync.status.reasons import STATES
from sync.status.routes import routes_ready

OF_GATEWAY: Final = "WaitingForGateway"


def routes(case: Case) -> Iterator[Cause]:
    """Return why requests cannot come in."""
    verdict = routes_ready(case.observed)
    unknown = {kind for kind in ROUTES if (found := case.read.live.objects.get(kind)) and found.unknown}
    if STATES["RoutesReady", verdict.reason] == "True" or verdict.reason == "NotObserved":
        return
    if unknown and (verdict.reason != OF_GATEWAY or GATEWAYS.kind in unknown):
        return
    yield cause(verdict.reason, case.service, f"{verdict.message}{_picker(case, verdict.reason)}")


def _picker(case: Case, reason: str) -> str:
    """Return why a pod of the endpoint picker fails; empty if none does."""
    prefix = f"{picker_name(case.read.service)}-"
    seen = (project(pod) for pod in case.read.pods)
    failed = next((one for one in seen if one.name.startswith(prefix) and one.failure), None)
    if reason != "PickerNotAvailable" or failed is None or failed.failure is None:
        return ""
    return f"; pod {failed.name}: {failed.failure.reason}: {failed.failure.message}"
