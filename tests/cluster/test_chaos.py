"""Every process of the cluster is killed, at any moment, while users work; nothing is lost or doubled.

CHAOS_SEED chooses what happens, CHAOS_ROUNDS how long. What fails prints the seed and the rounds: the same
seed gives the same rounds, though not the same moments of the processes.

`make test` runs a short form, `make chaos` fifty rounds.
"""

import http.client
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from tests.cluster.chaos.kubelet import Kubelet
from tests.cluster.chaos.people import SHAPES, Service
from tests.cluster.chaos.remains import Pods, expected, look, problems, restarted, uids
from tests.cluster.chaos.rounds import next_round, play
from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.audit import intruders
from tests.cluster.testbed.cluster import Cluster, KubectlError
from tests.cluster.testbed.namespaces import add_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.cluster.testbed.services import Objects
from tests.tiers import count

SEED: Final = int(os.environ.get("CHAOS_SEED", "1"))
ROUNDS: Final = count("CHAOS_ROUNDS")
BATCH: Final = min(10, ROUNDS)
"""Rounds between two waits for quiet; then no pod may have been restarted without need."""
QUIET: Final = 60.0
"""Seconds that the longest back-off takes: who watches waits 30 s, and by chance up to twice that, once
several tries have failed within two minutes (`k8s.io/client-go` `tools/cache/reflector.go`:
`NewReflectorWithOptions`)."""
TIMES: Final = 4
"""Back-offs that may follow one another: that of the API server's own cache (`k8s.io/apiserver`
`pkg/storage/cacher/cacher.go`); of who then watches from a version that is gone; of who then lists; and of
what failed meanwhile, as long again as it failed (`k8s.io/client-go`
`util/workqueue/default_rate_limiters.go`)."""
COLLECTOR: Final = "kube-controller-manager"
"""What its garbage collector missed it never learns. Of what is deleted and made again under its name while
it does not watch, an informer that lists again says that it changed, not that it was deleted
(`k8s.io/client-go` `tools/cache/shared_informer.go`; kubernetes/kubernetes#133565); what the first one
owned is then left until the collector starts again (`k8s.io/kubernetes`
`pkg/controller/garbagecollector/graph_builder.go`: `controllerFor`, `processGraphChanges`)."""
NODES: Final = 5


@dataclass(slots=True)
class Scene:
    """Where it happens, and how far it is."""

    kubelet: Kubelet
    namespace: str
    spare: str
    directory: Path
    services: dict[str, Service]
    pods: Pods = field(default_factory=dict)
    since: list[str] = field(default_factory=list)
    """The rounds since it was quiet."""

    @property
    def cluster(self) -> Cluster:
        """Whose processes are killed."""
        return self.kubelet.cluster


def test_nothing_is_lost_or_doubled_whatever_is_killed(shaken: Cluster, tmp_path: Path) -> None:
    add_gpu_nodes(shaken, NODES)
    services = {shape: Service(shape, shape) for shape in SHAPES}
    scene = Scene(Kubelet(shaken), add_namespace(shaken), add_namespace(shaken), tmp_path, services)
    random = Random(SEED)  # noqa: S311 - chooses what to break

    for number in range(1, ROUNDS + 1):
        one = next_round(number, random, tuple(scene.services.values()))
        say(scene, str(one))
        play(scene.kubelet, scene.namespace, one)
        scene.services[one.change.after.name] = one.change.after
        if number % BATCH == 0 or number == ROUNDS:
            come_to_rest(scene)


def come_to_rest(scene: Scene) -> None:
    """Wait until it is quiet; all must be as the command prints it, and no pod restarted without need."""
    services, began = tuple(scene.services.values()), time.monotonic()

    @cache
    def printed() -> Objects:
        return expected(scene.cluster, scene.namespace, scene.spare, services, scene.directory)

    def check() -> list[str]:
        return problems(look(scene.cluster, scene.namespace), printed(), services)

    wrong = becomes(scene, check) or intruders(scene.cluster, scene.namespace)
    assert not wrong, told(scene, wrong)
    say(scene, f"quiet after {time.monotonic() - began:.1f} s")
    there = look(scene.cluster, scene.namespace)
    anew = restarted(scene.pods, there, services)
    assert not anew, told(scene, anew)
    scene.pods, scene.since = uids(there), []
    scene.services = {one.name: replace(one, fewest=one.replicas, restarted=False) for one in services}


def becomes(scene: Scene, check: Callable[[], list[str]]) -> list[str]:
    """Check until nothing is wrong or time is up, and return the last problems. Components may be down.

    The garbage collector is started again first, and after each back-off.
    """
    answers = [["not checked"]]

    def right() -> bool:
        try:
            answers.append(check())
        except (ApiError, KubectlError, OSError, http.client.HTTPException) as error:
            answers.append([f"no answer: {error}"])
        return not answers[-1]

    for _ in range(TIMES):
        scene.kubelet.kill(COLLECTOR)
        if scene.kubelet.tend_until(right, QUIET):
            break
    return answers[-1]


def say(scene: Scene, line: str) -> None:
    """Note what happens; shown if it fails, or with `pytest -s`."""
    scene.since.append(line)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def told(scene: Scene, wrong: list[str]) -> str:
    """Return the problems and how to reproduce them."""
    return "\n".join((f"CHAOS_SEED={SEED} CHAOS_ROUNDS={ROUNDS}", *scene.since, *wrong))
