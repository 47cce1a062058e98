"""Computes everything that one service should have: LeaderWorkerSets, autoscalers, PodGroup, routes.

Rules of this file:
1. Each part is decided separately: a problem of one part does not change another.
2. An InferenceService that cannot be read, or is being deleted, changes nothing. While one breaks a rule,
 neither its LeaderWorkerSets nor its routes are deleted.
3. A refusal of the API server becomes a finding, and changes no desired object.
4. Absence from a cache is no proof: nothing of a kind that is not known in full is deleted.
5. A service of too many members is left as it is: the cost of one service is bounded, for all tenants.
"""

from typing import Final

from intent import budget
from intent.annotations import SERVICE
from intent.errors import FieldError, Finding
from intent.inferenceservice.read import KIND
from intent.lws import KIND as LWS
from intent.settings import Settings
from sync.kinds import API, OBJECTIVE, OUTPUTS, ROUTES, part_of
from sync.parts.api import api
from sync.parts.desired import Desired, Refusal, combined
from sync.parts.gang import gang
from sync.parts.routes import priority_path, routes
from sync.parts.sets import SETS, sets
from sync.snapshot import Snapshot

ALL: Final = frozenset(OUTPUTS)
AGAIN: Final = "tried again within a minute"
"""When what is refused or fails is tried again: `ServiceState.retry_in` and `Backoff` keep it."""
UNAVAILABLE: Final = "FI880"
UNREADABLE: Final = "FI881"


def desired_state(snapshot: Snapshot, settings: Settings) -> Desired:
    """Compute what one service should have."""
    if snapshot.is_deleting:
        return combined((Desired(held=ALL), _unknown(snapshot)))
    if snapshot.crowd:
        over = budget.of_service(snapshot.crowd)
        return Desired(held=ALL, findings=tuple(Finding(one, over) for one in snapshot.subjects[:1]))
    if why := snapshot.unknown.get(LWS):  # a gang of the members that are known would strand the others
        return combined((reporting(snapshot, unavailable(LWS, "", why)), _unknown(snapshot)))
    gangs = (gang(situation, settings) for situation in snapshot.gangs)
    of_ejected = Desired(held_objects=snapshot.kept_routes)
    of_roles = sets(snapshot, snapshot.service) if snapshot.service else Desired(held=SETS)
    parts = (of_roles, *gangs, api(snapshot, settings), routes(snapshot, settings), of_ejected)
    return combined((*parts, _unknown(snapshot)))


def _unknown(snapshot: Snapshot) -> Desired:
    """Hold the kinds that are not known in full; without the InferenceService, all kinds."""
    held = ALL if snapshot.unknown.keys() & {LWS, KIND} else ALL & snapshot.unknown.keys()
    findings = (
        Finding(subject, FieldError("metadata", None, f"cannot be read: {why}; it is left alone", UNREADABLE))
        for subject, why in snapshot.unreadable
    )
    return Desired(held=held, findings=tuple(findings))


def unavailable(kind: str, name: str, why: str) -> Refusal:
    """Return the refusal of an object whose kind is not known in full."""
    message = f"{kind} is not changed for now: {why}"
    return Refusal(UNAVAILABLE, message, part_of(kind, name), (kind,), retryable=True)


def reporting(snapshot: Snapshot, refusal: Refusal) -> Desired:
    """Report a refusal of the API server to the authors, a warning if it may pass.

    Without InferenceObjectives requests are served, without priority; without the Service the engines run. So
    these are warnings, unless an Ingress leads to the Service.
    """
    router = snapshot.value.router if snapshot.value else None
    path, is_of_routes = "spec" if snapshot.service else f"metadata.annotations[{SERVICE}]", False
    is_softened = refusal.retryable or refusal.kind in {API, OBJECTIVE.kind}
    if refusal.kind == OBJECTIVE.kind:
        path = priority_path(snapshot)
    elif refusal.kind == API and router and router.ingress is not None:
        path, is_of_routes, is_softened = f"spec.roles[{router.index}].ingress", True, refusal.retryable
    error = FieldError(path, None, f"{refusal.message}; {AGAIN}", refusal.code, is_softened)
    found = tuple(Finding(subject, error, refusal.about) for subject in snapshot.subjects)
    return Desired(of_routes=found) if is_of_routes or refusal.kind in ROUTES else Desired(findings=found)
