"""Random services and nodes, from a seed: as their author would write them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from intent import Object
from intent.annotations import PREFIX
from tests.cluster.testbed.nodes import gpu_node

GPU: Final = "nvidia.com/gpu"
POOLS: Final = ("a", "b")
TAINT: Final[Object] = {"key": "reserved", "value": "llm", "effect": "NoSchedule"}
AVOIDED: Final[Object] = {"key": "slow", "value": "yes", "effect": "PreferNoSchedule"}
TOLERATED: Final[Object] = {"key": "reserved", "operator": "Exists", "effect": "NoSchedule"}
READY: Final[Object] = {"type": "Ready", "status": "True", "reason": "Testbed", "message": ""}
MOST_PODS: Final = 48
"""The most pods of a case: it should take a second or two."""
ROLES: Final = (
    (("worker", "worker"),),
    (("prefill", "prefiller"), ("decode", "decoder")),
    (("prefill", "prefiller"), ("decode", "decoder"), ("decode-long", "decoder")),
    (
        ("prefill", "prefiller"),
        ("prefill-long", "prefiller"),
        ("decode", "decoder"),
        ("decode-long", "decoder"),
    ),
)


@dataclass(frozen=True, slots=True)
class Case:
    """Services, and the nodes that are added one after the other, each with pods that are on it already."""

    seed: int
    objects: tuple[Object, ...]
    nodes: tuple[Object, ...]
    fillers: tuple[tuple[Object, ...], ...]
    """By node."""


def plain(objects: Iterable[Object], nodes: Sequence[int]) -> Case:
    """Return a case of empty nodes with so many GPUs."""
    made = tuple(gpu_node(f"node-{at}", gpus) for at, gpus in enumerate(nodes))
    return Case(0, tuple(objects), made, ((),) * len(made))


def case(seed: int) -> Case:
    """Return the case of a seed."""
    random = Random(seed)  # noqa: S311 - a case, not a secret
    count = random.choice((1, 1, 2, 2, 3))
    while True:
        services = [_service(random, f"s{at}") for at in range(count)]
        objects = [one for service in services for one in service]
        if 0 < _pods(objects) <= MOST_PODS:
            break
    ranked = [_priority_class(at) for at in range(2)] if random.random() < 0.3 else []
    for service in services if ranked else ():
        name = random.choice(("", "rank-0", "rank-1"))
        for one in service if name else ():
            for template in _templates(one):
                template["spec"]["priorityClassName"] = name
    nodes, fillers = zip(*(_node(random, at) for at in range(random.randint(4, 10))), strict=True)
    return Case(seed, (*ranked, *objects), nodes, fillers)


def single(seed: int) -> Case:
    """Return a case of pods in no gang. Their priorities differ: of equal ones, either may come first."""
    random = Random(seed)  # noqa: S311 - a case, not a secret
    ranked = [_priority_class(at) | {"preemptionPolicy": "Never"} for at in range(random.randint(1, 3))]
    objects = []
    for at, rank in enumerate(random.sample(ranked, len(ranked))):
        one = _lws(random, f"s{at}", "worker", "worker", 1)
        one["metadata"]["annotations"][PREFIX + "scheduler-name"] = "default-scheduler"
        group = one["spec"]["leaderWorkerTemplate"]
        group["size"] = min(group["size"], 3)
        group.pop("leaderTemplate", None)
        group["workerTemplate"]["spec"]["priorityClassName"] = rank["metadata"]["name"]
        objects.append(one)
    nodes, fillers = zip(*(_node(random, at) for at in range(random.randint(3, 8))), strict=True)
    return Case(seed, (*ranked, *objects), nodes, fillers)


def _pods(objects: list[Object]) -> int:
    return sum(one["spec"]["replicas"] * one["spec"]["leaderWorkerTemplate"]["size"] for one in objects)


def _templates(lws: Object) -> Iterator[Object]:
    group = lws["spec"]["leaderWorkerTemplate"]
    yield from (group[name] for name in ("leaderTemplate", "workerTemplate") if name in group)


def _priority_class(at: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": f"rank-{at}"},
        "value": 1000 * (at + 1),
    }


# --- services ---------------------------------------------------------------------------------------


def _service(random: Random, name: str) -> list[Object]:
    roles = random.choice(ROLES)
    smallest = 2 if len(roles) == 1 else 1  # one worker of size 1 is in no gang
    return [_lws(random, name, role, component, smallest) for role, component in roles]


def _lws(random: Random, service: str, role: str, component: str, smallest: int) -> Object:
    group: Object = {
        "size": max(smallest, random.choice((1, 1, 2, 2, 2, 3, 4, 8))),
        "workerTemplate": _template(random),
    }
    if random.random() < 0.25:
        group["leaderTemplate"] = _template(random)
    annotations = {"service": service, "component-type": component, "role-name": role, "launcher": "none"}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": f"{service}-{role}",
            "annotations": {PREFIX + key: value for key, value in annotations.items()},
        },
        "spec": {"replicas": random.choice((0, 1, 1, 1, 2, 2, 3, 4, 6)), "leaderWorkerTemplate": group},
    }


def _template(random: Random) -> Object:
    gpus = random.choice((1, 2, 2, 4, 4, 8))
    requests = random.choice(({}, {"cpu": "4"}, {"cpu": "16", "memory": "64Gi"}, {"memory": "100Gi"}))
    main = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.17.1",
        "command": ["vllm", "serve"],
        "args": ["org/M"],
        "resources": {"requests": requests, "limits": {GPU: str(gpus)}},
    }
    spec: Object = {"containers": [main]}
    if random.random() < 0.2:
        small = {"name": "log", "image": "busybox", "resources": {"requests": {"cpu": "500m"}}}
        spec["containers"].append(small)
    if random.random() < 0.2:
        init = {"name": "fetch", "image": "busybox", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}
        spec["initContainers"] = [init]
    if random.random() < 0.12:
        spec["nodeSelector"] = {"pool": random.choice(POOLS)}
    elif random.random() < 0.2:
        spec["affinity"] = {"nodeAffinity": _affinity(random)}
    if random.random() < 0.4:
        spec["tolerations"] = [TOLERATED]
    return {"spec": spec}


def _affinity(random: Random) -> Object:
    pool = {"key": "pool", "operator": random.choice(("In", "NotIn")), "values": [random.choice(POOLS)]}
    size = {"key": "size", "operator": "Gt", "values": ["3"]}
    term = {"matchExpressions": random.choice(([pool], [size], [pool, size]))}
    if random.random() < 0.5:
        return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": term}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


# --- nodes ------------------------------------------------------------------------------------------


def _node(random: Random, at: int) -> tuple[Object, tuple[Object, ...]]:
    """Return a node, and the pods that are on it before it is added."""
    gpus = random.choice((2, 4, 8, 8, 8, 8))
    room = {"cpu": random.choice(("32", "64", "96")), "memory": "512Gi", "pods": "110", GPU: str(gpus)}
    name = f"node-{at}"
    node = {
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "pool": random.choice(POOLS), "size": str(gpus)},
        },
        "spec": {"taints": random.choice(([], [], [], [], [TAINT], [AVOIDED]))},
        "status": {"capacity": room, "allocatable": room, "conditions": [READY]},
    }
    return node, _fillers(random, name, gpus) if random.random() < 0.25 else ()


def _fillers(random: Random, node: str, gpus: int) -> tuple[Object, ...]:
    resources = {"requests": {"cpu": "3"}, "limits": {GPU: str(random.choice((1, gpus // 2)))}}
    pod = {
        "metadata": {"name": f"other-{node}"},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i", "resources": resources}]},
    }
    return (pod,)
