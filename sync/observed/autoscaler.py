"""Projection of a HorizontalPodAutoscaler: the name of the LeaderWorkerSet that it scales."""

from typing import Final

from intent import Object, lws
from intent.shapes import mapping, text
from sync.observed.cached import CachedObject, cached_object
from sync.observed.index_keys import IndexKey

API_VERSION: Final = "autoscaling/v2"
KIND: Final = "HorizontalPodAutoscaler"
MANAGER: Final = "kube-controller-manager"
"""The field manager of Kubernetes' own autoscaler."""


def cached_autoscaler(obj: Object) -> CachedObject[str] | None:
    """Project a HorizontalPodAutoscaler; None if the controller did not apply it, and it scales no LWS."""
    row = cached_object(obj, target, _keys)
    return row if row.applied or row.projection else None


def target(obj: Object) -> str:
    """Return the name of the LeaderWorkerSet that an autoscaler scales; empty if it scales something else."""
    reference = mapping(mapping(obj.get("spec")).get("scaleTargetRef"))
    group = text(reference.get("apiVersion")).partition("/")[0]
    is_set = reference.get("kind") == lws.KIND and group == lws.API_VERSION.partition("/")[0]
    return text(reference.get("name")) if is_set else ""


def _keys(obj: Object) -> tuple[IndexKey, ...]:
    """Return the index key of the LeaderWorkerSet that an autoscaler scales."""
    return (IndexKey(lws.KIND, text(mapping(obj.get("metadata")).get("namespace")), target(obj)),)
