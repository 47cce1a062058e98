"""Projection of a HorizontalPodAutoscaler: the name of the LeaderWorkerSet that it scales."""

from dataclasses import dataclass
from typing import Final

from intent import Object, lws
from intent.shapes import mapping, text
from sync.observed.cached import AppliedObject, applied_fields
from sync.observed.index_keys import IndexKey

API_VERSION: Final = "autoscaling/v2"
KIND: Final = "HorizontalPodAutoscaler"
MANAGER: Final = "kube-controller-manager"
"""The field manager of Kubernetes' own autoscaler."""


@dataclass(frozen=True, slots=True)
class Autoscaler(AppliedObject):
    """One HorizontalPodAutoscaler."""

    target: str = ""
    """The name of the LeaderWorkerSet that it scales; empty if it scales something else."""


def cached_autoscaler(obj: Object) -> Autoscaler | None:
    """Project a HorizontalPodAutoscaler; None if the controller did not apply it, and it scales no LWS."""
    fields, target = applied_fields(obj), _target(obj)
    keys = (IndexKey(lws.KIND, fields["namespace"], target),)
    return Autoscaler(**fields, index_keys=keys, target=target) if fields["applied"] or target else None


def _target(obj: Object) -> str:
    reference = mapping(mapping(obj.get("spec")).get("scaleTargetRef"))
    group = text(reference.get("apiVersion")).partition("/")[0]
    is_set = reference.get("kind") == lws.KIND and group == lws.API_VERSION.partition("/")[0]
    return text(reference.get("name")) if is_set else ""
