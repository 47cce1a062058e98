"""Permanent failures: the one cause to report first, with its remedy."""

from collections.abc import Iterable
from operator import itemgetter
from typing import Final

from catalog.codes import CODES
from intent.errors import FieldError
from sync.observed.pod import Failure, ObservedPod
from sync.status.groups import RoleView
from sync.status.inputs import Observed

WAITING: Final = "FI410"


def first(errors: Iterable[FieldError]) -> str:
    """Return the first of these errors by code, then by path, with its remedy; empty if there is none."""
    wrong = (error for error in errors if error.severity == "error")
    found = sorted(wrong, key=lambda error: (error.code, error.path, error.message))
    return f"{found[0]}. To repair it: {CODES[found[0].code].remedy}" if found else ""


def cause(seen: Observed) -> str:
    """Return the first error among all findings (`first`)."""
    return first((*seen.errors, *(seen.routes.errors if seen.routes else ())))


def failing(seen: Observed, role: RoleView) -> bool:
    """Return whether a pod of a role keeps failing, or did before and the role is not complete since."""
    if any(pod.failure for pod in role.all_pods):
        return True
    return role.name in seen.memory.roles and role.ready < role.desired


def crash(seen: Observed) -> str:
    """Return the first pod that keeps failing, with a remedy; empty if there is none."""
    roles = [role for role in seen.roles if failing(seen, role)]
    if not roles:
        return ""
    return (
        _first_crash(pod for role in roles for pod in role.all_pods)
        or seen.memory.message
        or f"a pod of role {roles[0].name} failed, and it is not complete since"
    )


def _first_crash(pods: Iterable[ObservedPod]) -> str:
    """Return the first of these pods that keeps failing; empty if there is none."""
    found = [(pod.name, pod.failure) for pod in pods if pod.failure]
    return _described(*min(found, key=itemgetter(0))) if found else ""


def _described(pod: str, failure: Failure) -> str:
    container = f", container {failure.container}" if failure.container else ""
    message = f": {failure.message}" if failure.message else ""
    remedy = CODES[failure.code].remedy.replace("POD", pod)
    return f"pod {pod}{container}: {failure.reason}{message} ({failure.code}: {remedy})"
