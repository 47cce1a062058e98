"""Projection of an autoscaler: the LeaderWorkerSet that it scales, and why it does not scale it."""

from dataclasses import dataclass
from typing import Final

from intent import Object, lws
from intent.shapes import mapping, text
from sync.observed.cached import CachedObject, cached_object
from sync.observed.condition import conditions
from sync.observed.index_keys import target_keys

API_VERSION: Final = "autoscaling/v2"
KIND: Final = "HorizontalPodAutoscaler"
MANAGER: Final = "kube-controller-manager"
"""The field manager of Kubernetes' own autoscaler."""
NEEDED: Final = ("AbleToScale", "ScalingActive")
"""The conditions without which a HorizontalPodAutoscaler does not scale."""
DISABLED: Final = "ScalingDisabled"
"""The reason while the replicas are 0: somebody else has to scale from 0."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """What one autoscaler scales."""

    target: str = ""
    """The name of the LeaderWorkerSet; empty if it scales something else."""
    problem: str = ""
    """Why it does not scale, from its conditions; empty if it does, or has not tried yet."""


def project(obj: Object) -> Autoscaler:
    """Project a HorizontalPodAutoscaler."""
    return Autoscaler(_target(obj), _problem(obj))


def cached_autoscaler(obj: Object) -> CachedObject[Autoscaler] | None:
    """Project a HorizontalPodAutoscaler; None if the controller did not apply it, and it scales no LWS."""
    row = cached_object(obj, project, target_keys)
    return row if row.applied or row.projection.target else None


def _target(obj: Object) -> str:
    reference = mapping(mapping(obj.get("spec")).get("scaleTargetRef"))
    group = text(reference.get("apiVersion")).partition("/")[0]
    is_set = reference.get("kind") == lws.KIND and group == lws.API_VERSION.partition("/")[0]
    return text(reference.get("name")) if is_set else ""


def _problem(obj: Object) -> str:
    found = {one.type: one for one in conditions(mapping(obj.get("status")).get("conditions"))}
    bad = (found[kind] for kind in NEEDED if kind in found and found[kind].status == "False")
    return next((one.message or one.reason for one in bad if one.reason != DISABLED), "")
