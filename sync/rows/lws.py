"""A LeaderWorkerSet: how many groups there should be, and whether its controller has seen that."""

from dataclasses import dataclass

from intent import Object
from intent.shapes import mapping, number, text
from sync.rows.condition import Condition, conditions, generation


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

    @property
    def current(self) -> bool:
        """Whether its status speaks of what it is now."""
        return self.observed >= self.generation


def facts(obj: Object) -> LeaderWorkerSet:
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
    )


def _observed(status: Object, said: tuple[Condition, ...], of_object: int) -> int:
    """Read which generation the status speaks of.

    Older LeaderWorkerSets have no `status.observedGeneration`: their conditions may say it, and if those
    do not either, any status is believed.
    """
    observed = max((number(status.get("observedGeneration")), *(one.observed for one in said)))
    return observed or (of_object if status else 0)
