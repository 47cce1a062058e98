"""A Deployment, that of an endpoint picker: whether it is available, and why not."""

from dataclasses import dataclass

from intent import Object
from intent.shapes import mapping, number
from sync.rows.condition import Condition, conditions, generation


@dataclass(frozen=True, slots=True)
class Deployment:
    """What one Deployment reports."""

    available: bool = False
    message: str = ""
    """Why it is not available, in its controller's words."""
    current: bool = False
    """Whether its status speaks of what it is now."""


def facts(obj: Object) -> Deployment:
    """Project a Deployment."""
    status = mapping(obj.get("status"))
    said = {one.type: one for one in conditions(status.get("conditions"))}
    available = said.get("Available")
    return Deployment(
        available=available is not None and available.status == "True",
        message=_message(said),
        current=number(status.get("observedGeneration")) >= generation(obj),
    )


def _message(said: dict[str, Condition]) -> str:
    """Give the most telling of the conditions that are not well: a refused pod comes first."""
    failed, slow, available = (said.get(key) for key in ("ReplicaFailure", "Progressing", "Available"))
    bad = (
        failed if failed and failed.status == "True" else None,
        slow if slow and slow.status == "False" else None,
        available if available and available.status == "False" else None,
    )
    return next((one.message for one in bad if one), "")
