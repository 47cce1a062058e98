"""The real API server and Volcano scheduler with services of a case: pods as LeaderWorkerSet makes them."""

import copy
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from intent import Object
from intent.annotations import GROUP_INDEX, GROUP_NAME, LEADERS, LWS_NAME
from intent.lws import KIND as LWS
from intent.shapes import annotations
from plan.workload import Workload
from sync.observed.pod_group import KIND as POD_GROUP
from tests.cluster.testbed.api import create, delete, items, path
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import COMPONENTS
from tests.cluster.testbed.control_plane import running, start_process, wait_ready
from tests.cluster.testbed.modules import CRDS
from tests.cluster.testbed.namespaces import add_namespace
from tests.cluster.testbed.wait import until

CONFIGURATION: Final = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""
"""Volcano's default (`installer/helm/chart/volcano/config/volcano-scheduler.conf`)."""
PERIOD: Final = 0.05
"""Seconds between two cycles of the scheduler."""
(WORKER_INDEX,) = LEADERS
CANARY: Final = "canary"
_CANARY_GROUP: Final[Object] = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": CANARY},
    "spec": {"minMember": 1},
}
PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
Bound = dict[tuple[str, int], int]
"""How many pods of a group are on nodes, by LeaderWorkerSet and index."""


@contextmanager
def scheduling(built: Built) -> Iterator[Cluster]:
    """Run an API server, kwok, and the Volcano scheduler with its default configuration and short cycles."""
    with running(built, CRDS, ("kwok",)) as cluster:
        row = COMPONENTS["vc-scheduler"]
        arguments = [
            f"--schedule-period={PERIOD}s" if one.startswith("--schedule-period") else one
            for one in row.args(cluster)
        ]
        (cluster.directory / "scheduler.conf").write_text(CONFIGURATION)
        start_process(cluster, "vc-scheduler", [str(built.binary(row.binary)), *arguments])
        wait_ready(cluster, "vc-scheduler", row.ready)
        yield cluster


@contextmanager
def services(cluster: Cluster, objects: list[Object], planned: tuple[Workload, ...]) -> Iterator[str]:
    """Create PodGroups and pods in a namespace of their own; at the end remove them and all nodes."""
    namespace = add_namespace(cluster)
    classes = [one for one in objects if one["kind"] == "PriorityClass"]
    for one in classes:
        create(cluster.api, PRIORITY_CLASSES, one)
    groups = [_pod_group(one, planned) for one in objects if one["kind"] == POD_GROUP]
    pods = [pod for one in objects if one["kind"] == LWS for pod in _pods(one)]
    for one in (*groups, _CANARY_GROUP):
        create(cluster.api, path("podgroups", namespace), one)
    with ThreadPoolExecutor(4) as pool:
        tuple(pool.map(lambda pod: create(cluster.api, path("pods", namespace), pod), pods))
    time.sleep(4 * PERIOD)
    try:
        yield namespace
    finally:
        delete(cluster.api, path("podgroups", namespace))
        delete(cluster.api, path("pods", namespace), gracePeriodSeconds="0")
        until(lambda: not items(cluster.api, path("pods", namespace)), "the pods are gone")
        delete(cluster.api, path("nodes"))
        for one in classes:
            delete(cluster.api, f"{PRIORITY_CLASSES}/{one['metadata']['name']}")
        time.sleep(4 * PERIOD)


def add_node(cluster: Cluster, namespace: str, node: Object, fillers: tuple[Object, ...]) -> Bound:
    """Add a node, with its pods there first; return what is bound when the scheduler rests.

    A pod that requests nothing is placed at the end of a cycle: once it is on the new node, the scheduler has
    tried all others with this node.
    """
    for pod in fillers:
        create(cluster.api, path("pods", namespace), pod)
    if fillers:
        time.sleep(2 * PERIOD)
    create(cluster.api, path("nodes"), node)
    create(cluster.api, path("pods", namespace), _canary(node["metadata"]["name"]))
    before: list[Bound] = [{}]

    def rests() -> bool:
        is_over, found = _seen(cluster, namespace)
        before.append(found if is_over else {})
        return is_over and before[-1] == before[-2]

    until(rests, "a cycle of the scheduler is over", every=PERIOD)
    delete(cluster.api, path("pods", namespace, CANARY), gracePeriodSeconds="0")
    return before[-1]


def _seen(cluster: Cluster, namespace: str) -> tuple[bool, Bound]:
    """Return whether the canary is on a node, and how many pods of each group are."""
    is_over, found = False, Bound()
    for pod in items(cluster.api, path("pods", namespace)):
        is_on_node, labels = bool(pod["spec"].get("nodeName")), pod["metadata"].get("labels", {})
        if pod["metadata"]["name"] == CANARY:
            is_over = is_on_node
        elif LWS_NAME in labels:
            key = labels[LWS_NAME], int(labels[GROUP_INDEX])
            found[key] = found.get(key, 0) + is_on_node
    return is_over, found


def _canary(node: str) -> Object:
    return {
        "metadata": {"name": CANARY, "annotations": {GROUP_NAME: CANARY}},
        "spec": {
            "schedulerName": "volcano",
            "nodeSelector": {"kubernetes.io/hostname": node},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "c", "image": "i"}],
        },
    }


def _pod_group(one: Object, planned: tuple[Workload, ...]) -> Object:
    """Return a PodGroup as it is when the controller has stopped requiring roles without replicas."""
    (workload,) = (each for each in planned if each.gang == one["metadata"]["name"])
    required = {role.name: role.required for role in workload.roles}
    made: Object = json.loads(json.dumps(one))
    for policy in made["spec"]["subGroupPolicy"]:
        policy["minSubGroups"] = required.get(policy["name"], 0)
    made["spec"]["minMember"] = max(1, workload.min_member)
    return {key: made[key] for key in ("apiVersion", "kind", "spec")} | {
        "metadata": {key: made["metadata"][key] for key in ("name", "labels") if key in made["metadata"]}
    }


def _pods(lws: Object) -> Iterator[Object]:
    """Yield the pods that LeaderWorkerSet makes."""
    group = lws["spec"]["leaderWorkerTemplate"]
    worker = group["workerTemplate"]
    name = lws["metadata"]["name"]
    for index in range(lws["spec"]["replicas"]):
        for at in range(group["size"]):
            template = copy.deepcopy(worker if at else group.get("leaderTemplate") or worker)
            labels = template.get("metadata", {}).get("labels", {})
            marks = {LWS_NAME: name, GROUP_INDEX: str(index), WORKER_INDEX: str(at)}
            metadata = {
                "name": f"{name}-{index}-{at}" if at else f"{name}-{index}",
                "labels": labels | marks,
                "annotations": annotations(template),
            }
            yield {"metadata": metadata, "spec": template["spec"]}
