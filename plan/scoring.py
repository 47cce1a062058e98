"""Which of several nodes a scheduler prefers, computed as it does: whole numbers are cut where it cuts them.

Sources: Volcano 1.14 `pkg/scheduler/plugins/{nodeorder,binpack}` with the weights of its default
configuration, Kubernetes `pkg/scheduler/framework/plugins/noderesources/{least,balanced}_allocation.go`.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

from plan.amounts import UNLIMITED

MOST: Final = 100
"""The highest score of one rule."""
BALANCED: Final = "nvidia.com/gpu"
"""The accelerator that Volcano balances with CPU and memory."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The rules of a scheduler."""

    binpack: bool = True
    """Whether nodes that are fuller by CPU and memory are preferred: a plugin of Volcano's default."""
    balanced_accelerator: bool = True
    taint_weight: int = 3
    affinity_weight: int = 2
    affinity_is_relative: bool = False
    """Whether the node with the most preferred affinity has 100; Volcano adds the weights themselves."""


VOLCANO: Final = Scoring()
KUBERNETES: Final = Scoring(binpack=False, balanced_accelerator=False, affinity_is_relative=True)
"""The scheduler of pods that are in no gang."""


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """One resource of a node: how much there is, is requested with the pod, and the pod requests."""

    has: int
    requested: int
    own: int

    @property
    def counts(self) -> bool:
        """Whether the node is known to have it."""
        return 0 < self.has < UNLIMITED


def score(rules: Scoring, compared: tuple[ResourceUse, ...], exact: tuple[ResourceUse, ...]) -> float:
    """Score a node by what is requested of it.

    `compared`: CPU and memory as they count for comparison; `exact`: CPU, memory, the balanced accelerator.
    """
    found = float(least_allocated(compared) + balanced(exact if rules.balanced_accelerator else exact[:2]))
    return found + binpacked(exact[:2]) if rules.binpack else found


def least_allocated(fills: tuple[ResourceUse, ...]) -> int:
    """Score the free part of CPU and memory."""
    each = [(MOST * max(0, one.has - one.requested)) // one.has for one in fills if one.counts]
    return sum(each) // len(each) if each else 0


def balanced(fills: tuple[ResourceUse, ...]) -> int:
    """Score how equally resources are used. An accelerator counts only for pods that request it."""
    if not any(one.own for one in fills):
        return 0
    counted = [one for at, one in enumerate(fills) if one.counts and (at < 2 or one.own)]
    parts = [min(1.0, one.requested / one.has) for one in counted]
    deviation = 0.0
    if len(parts) == 2:
        deviation = abs((parts[0] - parts[1]) / 2)
    elif len(parts) > 2:
        whole = 0.0
        for part in parts:
            whole += part
        mean, squares = whole / len(parts), 0.0
        for part in parts:
            squares += (part - mean) * (part - mean)
        deviation = sqrt(squares / len(parts))
    return int((1 - deviation) * MOST)


def binpacked(fills: tuple[ResourceUse, ...]) -> float:
    """Score the used part of CPU and memory."""
    asked = [one for one in fills if one.own]
    if not asked:
        return 0.0
    whole = 0.0
    for one in asked:
        whole += one.requested / one.has if one.counts else 0.0
    return whole / len(asked) * MOST


def tainted(counts: list[int]) -> list[int]:
    """Score nodes by the taints that should keep a pod away: 100 for the fewest."""
    most = max(counts, default=0)
    return [MOST - MOST * one // most if most else MOST for one in counts]


def preferred(rules: Scoring, weights: list[int]) -> list[int]:
    """Score nodes by the weights of the preferred affinity that they match."""
    most = max(weights, default=0)
    return [MOST * one // most for one in weights] if rules.affinity_is_relative and most else weights
