"""What the scheduler did with the groups of LeaderWorkerSets, read from the pods."""

import secrets
from collections import Counter
from collections.abc import Callable
from typing import Final

from intent import Object
from tests.cluster.testbed.api import create, delete, get, items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import SCHEDULE_PERIOD
from tests.cluster.testbed.wait import until

LWS_LABELS: Final = "leaderworkerset.sigs.k8s.io/"
CANARY: Final = "canary"
Bound = dict[str, tuple[int, int]]
"""(pods bound to a node, pods there are) of each group."""


def pods(cluster: Cluster, namespace: str) -> list[Object]:
    """List the pods of a namespace."""
    return items(cluster.api, path("pods", namespace))


def group_of(pod: Object) -> str:
    """Return the group of a pod, `<LeaderWorkerSet>-<group index>`: the name of its leader."""
    labels = pod["metadata"]["labels"]
    return f"{labels[LWS_LABELS + 'name']}-{labels[LWS_LABELS + 'group-index']}"


def bound(cluster: Cluster, namespace: str) -> Bound:
    """Count the pods of each group; those of an endpoint picker are in none."""
    everyone = [pod for pod in pods(cluster, namespace) if LWS_LABELS + "name" in pod["metadata"]["labels"]]
    there = Counter(map(group_of, everyone))
    placed = Counter(group_of(pod) for pod in everyone if pod["spec"].get("nodeName"))
    return {group: (placed[group], there[group]) for group in there}


def wait_pods(cluster: Cluster, namespace: str, count: int) -> None:
    """Wait until a namespace has that many pods."""
    until(lambda: len(pods(cluster, namespace)) == count, f"{count} pods in {namespace}")


def settled(
    cluster: Cluster, namespace: str, periods: int = 3, watch: Callable[[Bound], None] = lambda _: None
) -> Bound:
    """Return `bound` once nothing changed for some periods, in which a whole cycle ran over all nodes.

    `watch` is called with what each poll finds.
    """
    has_nodes = bool(items(cluster.api, path("nodes")))
    before: list[Bound] = []

    def unchanged() -> bool:
        if has_nodes:
            _place_canary(cluster)
        before.append(bound(cluster, namespace))
        watch(before[-1])
        return len(before) > 1 and before[-1] == before[-2]

    until(unchanged, "the scheduler comes to rest", every=periods * SCHEDULE_PERIOD)
    return before[-1]


def _place_canary(cluster: Cluster) -> None:
    """Have a pod that asks for no accelerator bound: a cycle has run over what there is at this moment."""
    name = f"{CANARY}-{secrets.token_hex(3)}"
    group, pod = path("podgroups", "default", name), path("pods", "default", name)
    create(cluster.api, path("podgroups", "default"), _canary_group(name))
    create(cluster.api, path("pods", "default"), _canary_pod(name))
    until(lambda: get(cluster.api, pod)["spec"].get("nodeName"), "the scheduler places a pod that fits")
    delete(cluster.api, pod, gracePeriodSeconds="0")
    delete(cluster.api, group)


def _canary_group(name: str) -> Object:
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    return {**kind, "metadata": {"name": name}, "spec": {"minMember": 1}}


def _canary_pod(name: str) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1m"}}}
    annotations = {"scheduling.k8s.io/group-name": name}
    metadata = {"name": name, "annotations": annotations}
    return {"metadata": metadata, "spec": {"schedulerName": "volcano", "containers": [container]}}
