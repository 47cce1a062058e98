"""How requests reach a service: strategies, and what an author may say about routes."""

from dataclasses import dataclass, field
from typing import Final

from intent import Object

DISAGGREGATION: Final = "pd-disaggregation"
STRATEGIES: Final = ("prefix-cache", "kv-cache-utilization", "queue-size", "lora-affinity", DISAGGREGATION)
SPLIT: Final = f"prefillers and decoders need {DISAGGREGATION}: others send requests to prefillers too"
"""What is wrong with another strategy for them."""
LEADERS: Final = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
"""The label by which only leaders are endpoints; the one pod of a group of size 1 has it too."""


@dataclass(frozen=True, slots=True)
class Routing:
    """What the router role, or the annotations of the members, ask for."""

    strategy: str = ""
    """Empty where the author brings a whole configuration."""
    config: str = ""
    """An EndpointPickerConfig of the author's own, as text."""
    gateway: str = ""
    """`name` or `namespace/name` of a Gateway; empty: no HTTPRoute, unless `http_route` has parents."""
    hostnames: tuple[str, ...] = ()
    http_route: Object = field(default_factory=dict, hash=False)
    """The spec of an HTTPRoute, as the author wrote it."""
    picker: str = ""
    """A generation, a row of `catalog.pickers.generations`; empty: the operator's."""
    picker_replicas: int = 0
    """0: as many as the operator set."""

    @property
    def wanted(self) -> bool:
        """Whether a picker is asked for; the rest only says how its service is reached."""
        return bool(self.strategy or self.config)


NO_ROUTING: Final = Routing()
