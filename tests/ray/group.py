"""The pods of a group, as LWS makes them from a LeaderWorkerSet.

Source: LWS `pkg/utils/pod/pod_utils.go`: its variables stand first, in every container.
"""

from dataclasses import dataclass
from typing import Final

from intent import Object
from tests.builders import kubelet

NAMESPACE: Final = "default"
DOMAIN: Final = "svc.cluster.local"
FAMILY: Final = "ip-family"
"""A label of a template, with the value IPv6: its pods are known by an address of that family."""
CONNECT: Final = "ip -6 address add fd00:99::$((16 + LWS_WORKER_INDEX))/64 dev eth0 nodad"
"""What the network plugin would have done; beside IPv4, by which the name server is asked."""


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod: its name, its address, and what it runs: init containers one by one, then the engine."""

    name: str
    address: str
    containers: tuple[tuple[list[str], dict[str, str]], ...]
    """Words and environment of each."""


def pods(lws: Object) -> list[Pod]:
    """Return the pods of the first group, the leader first."""
    group = lws["spec"]["leaderWorkerTemplate"]
    worker = group["workerTemplate"]
    templates = [group.get("leaderTemplate") or worker, *[worker] * (group["size"] - 1)]
    return [_pod(template, rank, lws) for rank, template in enumerate(templates)]


def leader_record(lws: Object) -> dict[str, str]:
    """Return what the cluster's DNS says of the leader: its name in the headless service, and its address."""
    name = lws["metadata"]["name"]
    template = lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    return {f"{name}-0.{name}.{NAMESPACE}.{DOMAIN}": _known_by(template, 0)}


def _pod(template: Object, rank: int, lws: Object) -> Pod:
    leader = f"{lws['metadata']['name']}-0"
    spec = template["spec"]
    (engine,) = spec["containers"]
    first = [{"name": "network", "command": ["sh", "-c", CONNECT]}] if _is_ipv6(template) else []
    containers = [_prepared(one, rank, lws) for one in (*first, *spec.get("initContainers", ()), engine)]
    run = tuple(_run(container, _known_by(template, rank)) for container in containers)
    return Pod(f"{leader}-{rank}" if rank else leader, _address(rank), run)


def _prepared(container: Object, rank: int, lws: Object) -> Object:
    name, size = lws["metadata"]["name"], lws["spec"]["leaderWorkerTemplate"]["size"]
    ours = {
        "LWS_LEADER_ADDRESS": f"{name}-0.{name}.{NAMESPACE}",
        "LWS_GROUP_SIZE": str(size),
        "LWS_WORKER_INDEX": str(rank),
    }
    first = [{"name": key, "value": value} for key, value in ours.items()]
    others = [item for item in container.get("env", ()) if item["name"] not in ours]
    return {**container, "env": [*first, *others]}


def _run(container: Object, address: str) -> tuple[list[str], dict[str, str]]:
    environment = kubelet.environment(container, {"status.podIP": address})
    return kubelet.words(container, environment), environment


def _known_by(template: Object, rank: int) -> str:
    """Return a pod's `status.podIP`, which is what DNS says of it too."""
    return f"fd00:99::{16 + rank}" if _is_ipv6(template) else _address(rank)


def _is_ipv6(template: Object) -> bool:
    return bool(template.get("metadata", {}).get("labels", {}).get(FAMILY) == "IPv6")


def _address(rank: int) -> str:
    return f"10.99.0.{10 + rank}"
