"""Two services that run while FusionInfer is removed: a LeaderWorkerSet and an InferenceService."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Final

from tests.builders.isvc import isvc, worker
from tests.cluster.testbed.api import ApiError, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, pod_group
from tests.cluster.testbed.rollouts import generation, rollout, started
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import CLIENT_SIDE, WHOLE, named, put, read

NAMESPACE: Final = "default"
OWN: Final = "held"
CHAT: Final = "chat"
SETS: Final = (OWN, f"{CHAT}-inference")
GANG: Final = "whole"
SERVED: Final = named(read(WHOLE), OWN)
PAUSED: Final = "fusioninfer.io/paused"
EVERY: Final = 0.05


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


@contextmanager
def reconciled_throughout(cluster: Cluster) -> Iterator[None]:
    """Pause and resume the InferenceService again and again, so that the controller reconciles it."""
    ended = threading.Event()

    def change() -> None:
        where = path("inferenceservices", NAMESPACE, CHAT)
        for number in count():
            if ended.wait(EVERY):
                return
            try:
                patch(
                    cluster.api, where, {"metadata": {"annotations": {PAUSED: ("true", "false")[number % 2]}}}
                )
            except ApiError:  # the webhook may be gone a moment before its configuration
                continue

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
