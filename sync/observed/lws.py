"""A LeaderWorkerSet: how many groups there should be, and whether its controller has seen that."""

from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.shapes import listed, mapping, number, text
from kube.request import FIELD_MANAGER
from sync.observed.condition import ObservedCondition, conditions, generation

PERSON: Final = "kubectl"
"""How the field manager of a person begins."""


@dataclass(frozen=True, slots=True)
class LeaderWorkerSet:
    """What one LeaderWorkerSet wants and reports, in groups."""

    name: str
    replicas: int = 1
    """How many it should have; the API's default is 1."""
    generation: int = 0
    observed: int = 0
    """The generation that its status speaks of; 0 while there is none."""
    updating: bool = False
    """Whether a rolling update is under way."""
    scaler: str = ""
    """The field manager that scaled it last, through the subresource `scale`, as autoscalers do.

    Empty if nothing did, or if `kubectl scale` did: that is repaired like any other edit by hand.
    """

    @property
    def current(self) -> bool:
        """Whether its status speaks of what it is now."""
        return self.observed >= self.generation


def project(obj: Object) -> LeaderWorkerSet:
    """Project a LeaderWorkerSet."""
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    said = conditions(status.get("conditions"))
    replicas = spec.get("replicas")
    return LeaderWorkerSet(
        name=text(mapping(obj.get("metadata")).get("name")),
        replicas=max(0, replicas) if type(replicas) is int else 1,
        generation=generation(obj),
        observed=_observed(status, said, generation(obj)),
        updating=any(one.type == "UpdateInProgress" and one.status == "True" for one in said),
        scaler=_scaler(mapping(obj.get("metadata"))),
    )


def _scaler(metadata: Object) -> str:
    """Read who scaled it from its `managedFields` (KEP-555, `subresource`)."""
    entries = [one for one in map(mapping, listed(metadata.get("managedFields"))) if _has_replicas(one)]
    if any(entry.get("manager") == FIELD_MANAGER for entry in entries):
        return ""  # applied since
    scaled = (text(entry.get("manager")) for entry in entries if entry.get("subresource") == "scale")
    return next((manager for manager in scaled if not manager.startswith(PERSON)), "")


def _has_replicas(entry: Object) -> bool:
    return "f:replicas" in mapping(mapping(entry.get("fieldsV1")).get("f:spec"))


def _observed(status: Object, said: tuple[ObservedCondition, ...], of_object: int) -> int:
    """Read which generation the status speaks of.

    Older LeaderWorkerSets have no `status.observedGeneration`: their conditions may say it, and if those
    do not either, any status is believed.
    """
    observed = max((number(status.get("observedGeneration")), *(one.observed for one in said)))
    return observed or (of_object if status else 0)
