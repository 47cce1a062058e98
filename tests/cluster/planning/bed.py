"""The real API server and Volcano scheduler with services of a case: pods as LeaderWorkerSet makes them."""

import copy
import json
import re
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final
from urllib.request import urlopen

from intent import Object
from intent.annotations import GROUP_INDEX, GROUP_NAME, LEADER_LABELS, LWS_NAME
from intent.lws import KIND as LWS
from intent.shapes import annotations
from plan.demand import DEFAULT_SCHEDULER
from plan.workload import Workload
from sync.observed.pod_group import KIND as POD_GROUP
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import create, delete, items, patch, path
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
(WORKER_INDEX,) = LEADER_LABELS
SCHEDULERS: Final = ("volcano", DEFAULT_SCHEDULER)
PENDING: Final = re.compile(r'^scheduler_pending_pods\{queue="(\w+)"\} (\d+)$', re.MULTILINE)
SECOND: Final = 1.1
"""Leaders are older than workers, as LeaderWorkerSet creates them: times of objects are whole seconds."""
QUIET: Final = 6
"""How many looks in a row see the same: pods are bound in the background, after the cycle."""
CANARY: Final = "canary-"
"""How the names of canaries begin. Each has its own PodGroup: Volcano may not see the second pod of one."""
HOLD: Final[Object] = {"key": "testbed/hold", "effect": "NoSchedule"}
PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
Bound = dict[tuple[str, int], int]
"""How many pods of a group are on nodes, by LeaderWorkerSet and index."""


@contextmanager
def scheduling(built: Built) -> Iterator[Cluster]:
    """Run an API server, kwok, Kubernetes' scheduler, and Volcano's with its default configuration.

    The cycles of Volcano are short.
    """
    with running(built, CRDS, ("kwok", "kube-scheduler")) as cluster:
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
    for one in groups:
        create(cluster.api, path("podgroups", namespace), one)
    leaders = [one for one in pods if one["metadata"]["labels"][WORKER_INDEX] == "0"]
    with ThreadPoolExecutor(4) as pool:
        for some in (leaders, [one for one in pods if one not in leaders]):
            tuple(pool.map(lambda pod: create(cluster.api, path("pods", namespace), pod), some))
            time.sleep(SECOND)
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

    Volcano places a pod that requests nothing at the end of a cycle: once such a canary is on the new node,
    it has tried all others with this node. Kubernetes' scheduler counts the pods that it has still to try.
    A taint holds them back until both have seen the node's pods.
    """
    name = node["metadata"]["name"]
    for pod in fillers:
        create(cluster.api, path("pods", namespace), pod)
    taints = node.get("spec", {}).get("taints", [])
    held = {**node, "spec": {**node.get("spec", {}), "taints": [*taints, HOLD]}}
    create(cluster.api, path("nodes"), held if fillers else node)
    if fillers:
        with _canary(cluster, namespace, f"{CANARY}first-{name}", (name, [{"operator": "Exists"}])) as canary:
            until(lambda: _seen(cluster, namespace, canary)[0], "the schedulers see the node", every=PERIOD)
        patch(cluster.api, path("nodes", "", name), {"spec": {"taints": taints}})
    before: list[Bound] = []
    tolerations = [{"key": one["key"], "operator": "Exists"} for one in taints]
    with _canary(cluster, namespace, f"{CANARY}{name}", (name, tolerations)) as canary:

        def rests() -> bool:
            is_over, found = _seen(cluster, namespace, canary)
            before.append(found if is_over else {})
            return is_over and before[-QUIET:] == [found] * QUIET

        until(rests, "the schedulers have tried all pods", every=PERIOD)
    return before[-1]


def _seen(cluster: Cluster, namespace: str, canary: str) -> tuple[bool, Bound]:
    """Return whether both schedulers have tried all pods, and how many pods of each group are on nodes."""
    found, canaries, singles = Bound(), 0, 0
    for pod in items(cluster.api, path("pods", namespace)):
        is_on_node, labels = bool(pod["spec"].get("nodeName")), pod["metadata"].get("labels", {})
        if pod["metadata"]["name"].startswith(canary):
            canaries += is_on_node
        elif LWS_NAME in labels:
            key = labels[LWS_NAME], int(labels[GROUP_INDEX])
            found[key] = found.get(key, 0) + is_on_node
            singles += not is_on_node and pod["spec"]["schedulerName"] == DEFAULT_SCHEDULER
    return canaries == len(SCHEDULERS) and _waiting(cluster) == (0, singles), found


def _waiting(cluster: Cluster) -> tuple[int, int]:
    """Return how many pods Kubernetes' scheduler has still to try, and how many it could not place."""
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    address = f"https://127.0.0.1:{cluster.ports['kube-scheduler']}/metrics"
    with urlopen(address, context=unverified, timeout=PATIENCE) as answer:
        counts = {name: int(count) for name, count in PENDING.findall(answer.read().decode())}
    return counts.get("active", 0) + counts.get("backoff", 0), counts.get("unschedulable", 0)


@contextmanager
def _canary(cluster: Cluster, namespace: str, name: str, where: tuple[str, list[Object]]) -> Iterator[str]:
    """Have a pod of each scheduler wait that requests nothing; `where`: its node, and what it tolerates."""
    node, tolerations = where
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": 1},
    }
    create(cluster.api, path("podgroups", namespace), group)
    for scheduler in SCHEDULERS:
        pod = {
            "metadata": {"name": f"{name}-{scheduler}", "annotations": {GROUP_NAME: name}},
            "spec": {
                "schedulerName": scheduler,
                "nodeSelector": {"kubernetes.io/hostname": node},
                "tolerations": tolerations,
                "containers": [{"name": "c", "image": "i"}],
            },
        }
        create(cluster.api, path("pods", namespace), pod)
    yield name
    for scheduler in SCHEDULERS:
        delete(cluster.api, path("pods", namespace, f"{name}-{scheduler}"), gracePeriodSeconds="0")


def _pod_group(one: Object, planned: tuple[Workload, ...]) -> Object:
    """Return a PodGroup as it is when the controller has stopped requiring roles without replicas."""
    (workload,) = (each for each in planned if each.is_gang and each.name == one["metadata"]["name"])
    required = {role.member.name: role.required for role in workload.roles}
    made: Object = json.loads(json.dumps(one))
    for policy in made["spec"]["subGroupPolicy"]:
        policy["minSubGroups"] = required.get(policy["name"], 0)
    made["spec"]["minMember"] = max(1, sum(role.required * role.member.size for role in workload.roles))
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
