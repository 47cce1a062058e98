"""The nodes of a plan: those of the cluster that take pods, with the pods that are on them."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from fusioninfer.cluster.reader import Reader
from intent import Object
from intent.annotations import LWS_NAME
from intent.errors import counted
from intent.shapes import labels, mapping, metadata, text
from plan.supply import Supply, out_of_service, supplies
from plan.workload import Workload

NOT_ENDED: Final = "status.phase!=Succeeded,status.phase!=Failed"


class Nodes(NamedTuple):
    """The nodes to plan with, and what is known besides."""

    supplies: tuple[Supply, ...]
    pods: tuple[Object, ...] = ()
    """The pods of the cluster that have not ended."""
    classes: tuple[Object, ...] = ()
    """The PriorityClasses of the cluster."""
    assumed: tuple[str, ...] = ()
    """What the reader of a plan should know of them."""

    def notes(self, planned: Iterable[Workload]) -> Iterator[str]:
        """Yield what was assumed, and how many pods wait that are not planned."""
        yield from self.assumed
        own = {(each.namespace, role.member.name) for each in planned for role in each.roles}
        waiting = (pod for pod in self.pods if not mapping(pod.get("spec")).get("nodeName"))
        sets = ((text(metadata(pod).get("namespace")), text(labels(pod).get(LWS_NAME))) for pod in waiting)
        if others := sum(name not in own for name in sets):
            yield f"not planned, and may take what is free first: {counted(others, 'other waiting pod')}"


async def of_cluster(reader: Reader) -> Nodes:
    """Read the nodes of the cluster, and what is on them. Raises `UnreachableError`."""
    await reader.reach()
    nodes, pods, classes = await asyncio.gather(
        reader.every("/api/v1/nodes"),
        reader.every("/api/v1/pods", fields=NOT_ENDED),
        reader.every("/apis/scheduling.k8s.io/v1/priorityclasses"),
    )
    there, placed = nodes.known("nodes of the cluster"), pods.known("pods of the cluster")
    out = Counter(filter(None, map(out_of_service, there)))
    return Nodes(
        supplies(there, placed),
        placed,
        tuple({"kind": "PriorityClass"} | obj for obj in classes.objects),
        (
            *([f"priorities are not known: {classes.unknown}"] if classes.unknown else []),
            *(f"{counted(out[why], 'node')} left out: {why}" for why in sorted(out)),
        ),
    )
