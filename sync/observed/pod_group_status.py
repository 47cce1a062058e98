"""A PodGroup: what Volcano says of the gang.

Its phase looks at `minMember` alone: it stays `Running` while a role of the gang is gone. So nothing but
the words are kept; whether pods are placed is read from the pods.
"""

from dataclasses import dataclass

from intent import Object
from intent.shapes import mapping
from sync.observed.condition import conditions


@dataclass(frozen=True, slots=True)
class PodGroupStatus:
    """What one PodGroup reports."""

    message: str = ""
    """Why the gang does not fit, in Volcano's words."""


def project(obj: Object) -> PodGroupStatus:
    """Project the status of a PodGroup."""
    said = conditions(mapping(obj.get("status")).get("conditions"))
    held = (one.message for one in said if one.type == "Unschedulable" and one.status == "True")
    return PodGroupStatus(next(held, ""))
