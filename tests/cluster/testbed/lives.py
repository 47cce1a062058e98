"""Two services that run while FusionInfer is removed: a LeaderWorkerSet and an InferenceService."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import cycle
from typing import Final

from tests.builders.isvc import isvc, worker
from tests.cluster.testbed.api import ApiError, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, pod_group
from tests.cluster.testbed.rollouts import generation, rollout, started
from tests.cluster.testbed.wait import kept_doing, until
from tests.cluster.testbed.written import CLIENT_SIDE, WHOLE, named, put, read

NAMESPACE: Final = "default"
OWN: Final = "held"
CHAT: Final = "chat"
SETS: Final = (OWN, f"{CHAT}-inference")
GANG: Final = "whole"
SERVED: Final = named(read(WHOLE), OWN)
PAUSED: Final = "fusioninfer.io/paused"


@dataclass(frozen=True, slots=True)
class Life:
    """How many specs each LeaderWorkerSet has had, and the uid of each pod."""

    generations: Mapping[str, int]
    pods: Mapping[str, str]


def start_services(cluster: Cluster) -> None:
    """Start both services, and wait for their pods and the gang."""
    put(cluster, NAMESPACE, CLIENT_SIDE, SERVED)
    apply(cluster, NAMESPACE, isvc(worker(replicas=1), name=CHAT))
    for name in SETS:
        started(cluster, NAMESPACE, name)
    until(lambda: pod_group(cluster, NAMESPACE, GANG), "the gang is there")


def lives(cluster: Cluster) -> Life:
    """Read what a restart would change."""
    pods = {pod: uid for name in SETS for pod, uid in rollout(cluster, NAMESPACE, name).pods.items()}
    return Life({name: generation(cluster, NAMESPACE, name) for name in SETS}, pods)


def reconciled_throughout(cluster: Cluster) -> AbstractContextManager[None]:
    """Pause and resume the InferenceService again and again, so that the controller reconciles it."""
    where, values = path("inferenceservices", NAMESPACE, CHAT), cycle(("true", "false"))

    def change() -> None:
        with suppress(ApiError):  # the webhook may be gone a moment before its configuration
            patch(cluster.api, where, {"metadata": {"annotations": {PAUSED: next(values)}}})

    return kept_doing(change)
