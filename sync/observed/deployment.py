"""A Deployment, that of an endpoint picker: whether it is available, and why not."""

from dataclasses import dataclass

from intent import Object
from intent.annotations import PICKER
from intent.shapes import mapping, number, text
from sync.observed.condition import ObservedCondition, conditions, generation


@dataclass(frozen=True, slots=True)
class Deployment:
    """What one Deployment reports."""

    available: bool = False
    """Whether a pod of it is: of several pickers only the one that leads ever is."""
    replacing: bool = False
    """Whether pods of what it was before are still there."""
    message: str = ""
    """Why it is not available, or not up to date, in its controller's words."""
    current: bool = False
    """Whether its status speaks of what it is now."""
    picker: str = ""
    """The generation of the endpoint picker that it runs."""


def project(obj: Object) -> Deployment:
    """Project a Deployment."""
    status = mapping(obj.get("status"))
    said = {one.type: one for one in conditions(status.get("conditions"))}
    return Deployment(
        available=number(status.get("availableReplicas")) > 0,
        replacing=number(status.get("replicas")) > number(status.get("updatedReplicas")),
        message=_message(said),
        current=number(status.get("observedGeneration")) >= generation(obj),
        picker=text(mapping(mapping(obj.get("metadata")).get("labels")).get(PICKER)),
    )


def _message(said: dict[str, ObservedCondition]) -> str:
    """Give the most telling of the conditions that are not well: a refused pod comes first."""
    failed, slow, available = (said.get(key) for key in ("ReplicaFailure", "Progressing", "Available"))
    bad = (
        failed if failed and failed.status == "True" else None,
        slow if slow and slow.status == "False" else None,
        available if available and available.status == "False" else None,
    )
    return next((one.message for one in bad if one), "")
