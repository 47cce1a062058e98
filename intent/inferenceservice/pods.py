"""The number of pods of one replica, from the parallel sizes of a role whose author counts no nodes."""

from typing import Final

from intent import Object, accelerators
from intent.annotations import ENGINE_CONTAINER
from intent.parallelism import Parallelism
from intent.shapes import annotations, listed, mapping

MOST_PODS: Final = 2**31 - 1
"""The highest number that a field of Kubernetes counts."""
_NO_PATH: Final = ""


def pods_of(sizes: Parallelism, template: Object) -> int:
    """Return the pods that one replica needs.

    The product of the sizes is divided by the accelerators of a pod. Where the template requests none, tensor
    parallelism stays inside a pod and the stages of the pipeline are pods, as in KServe
    (`pkg/apis/serving/v1alpha2`, `ParallelismSpec.GetSize`). Ranks of one pod divide all ranks in both cases.
    """
    tensor, stages, ranks = (size or 1 for size in (sizes.tensor, sizes.pipeline, sizes.data))
    apart = ranks // sizes.data_local if sizes.data_local else 1
    pod = _in_pod(template)
    return min(max(-(-tensor * stages * ranks // pod) if pod else stages * apart, apart, 1), MOST_PODS)


def _in_pod(template: Object) -> int:
    """Return the accelerators that the engine container requests; 0 if it requests none or is not clear."""
    named = annotations(template).get(ENGINE_CONTAINER)
    containers = [mapping(container) for container in listed(mapping(template.get("spec")).get("containers"))]
    asked = [container for container in containers if named is None or container.get("name") == named]
    counts = [accelerators.read(container.get("resources"), _NO_PATH, []).count for container in asked]
    requested = [count for count in counts if count]
    return requested[0] if len(requested) == 1 else 0
