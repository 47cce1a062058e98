"""What is free, by node, and what is missing: how many pods have room, and what more nodes would start."""

from collections import defaultdict
from collections.abc import Mapping

from fusioninfer.cluster.text import name_of
from fusioninfer.cluster.why.case import Case, ServiceObjects
from fusioninfer.files.gangs import TooManyPodsError, workloads
from intent import Object
from intent.shapes import listed, mapping, text
from plan.forecast import forecast
from plan.sentences import further, room
from plan.supply import out_of_service, supply, with_pods
from sync.kinds import POD_GROUP
from sync.observed.pod import accelerators

MOST = 6
"""The most nodes that are listed."""


def allocatable(node: Object) -> dict[str, int]:
    """Return what a node has of resources that are counted in whole numbers: accelerators are."""
    amounts = mapping(mapping(node.get("status")).get("allocatable"))
    return {name: int(value) for name, value in amounts.items() if text(value).isdecimal() and int(value)}


def free(resource: str, nodes: tuple[Object, ...], pods: tuple[Object, ...]) -> dict[str, tuple[int, int]]:
    """Return how much of a resource is free, and how much there is, by node that offers it."""
    used: dict[str, int] = defaultdict(int)
    for pod in pods:
        spec = mapping(pod.get("spec"))
        used[text(spec.get("nodeName"))] += dict(accelerators(spec)).get(resource, 0)
    offered = {name_of(node): allocatable(node).get(resource, 0) for node in nodes if _takes_pods(node)}
    return {name: (max(0, total - used[name]), total) for name, total in offered.items() if total}


def _takes_pods(node: Object) -> bool:
    """Return whether a node is ready and not cordoned."""
    conditions = map(mapping, listed(mapping(node.get("status")).get("conditions")))
    is_ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    return is_ready and mapping(node.get("spec")).get("unschedulable") is not True


def described(requested: Mapping[str, int], read: ServiceObjects) -> str:
    """Return what is free, as the end of a message; empty if that is not known."""
    nodes, placed = read.answer("nodes"), read.answer("placed")
    if nodes.unknown or placed.unknown or not requested:
        return ""
    return "".join(
        f". A pod needs {amount} {resource}; {_by_node(free(resource, nodes.objects, placed.objects))}"
        for resource, amount in sorted(requested.items())
    )


def missing(case: Case) -> str:
    """Return what a plan says about the service, as the end of a message; empty if that is not known."""
    nodes, placed = case.read.answer("nodes"), case.read.answer("placed")
    if nodes.unknown or placed.unknown:
        return ""
    try:
        planned = workloads((*case.sets, *case.read.live.of(POD_GROUP)), case.read.pods.objects)
    except TooManyPodsError:
        return ""
    there = with_pods((supply(one) for one in nodes.objects if not out_of_service(one)), placed.objects)
    plan = forecast(planned, there, present=len(there))
    unknown = (one.unknown for one in plan.workloads if one.unknown)
    lines = (*unknown, *(room(plan, one) for one in plan.shortages if one.pods), *further(plan))
    return "".join(f". {line}" for line in lines)


def _by_node(found: dict[str, tuple[int, int]]) -> str:
    if not found:
        return "no ready node offers it"
    most = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    listed_nodes = ", ".join(f"{name} {left} of {total}" for name, (left, total) in most[:MOST])
    more = f", and {len(most) - MOST} more nodes" if len(most) > MOST else ""
    return f"free: {listed_nodes}{more}"
