"""The nodes of a plan: those of the cluster that take pods, with the pods that are on them."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from fusioninfer.cluster.reader import Reader, UnreachableError
from fusioninfer.cluster.text import name_of
from intent import Object
from intent.annotations import LWS_NAME
from intent.errors import counted
from intent.lws import KIND as LWS
from intent.shapes import labels, mapping, metadata, text
from plan.supply import Supply, out_of_service, supplies

NOT_ENDED: Final = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes to plan with, and what is known besides."""

    supplies: tuple[Supply, ...]
    out: tuple[str, ...] = ()
    """Why each node that is left out takes no pods."""
    pods: tuple[Object, ...] = ()
    """The pods of the cluster that have not ended."""
    objects: tuple[Object, ...] = ()
    """The PriorityClasses of the cluster."""
    assumed: tuple[str, ...] = ()

    def notes(self, planned: Iterable[Object]) -> Iterator[str]:
        """Yield what the reader of a plan should know. `planned`: the objects of the files."""
        yield from self.assumed
        for why in sorted(set(self.out)):
            yield f"{counted(self.out.count(why), 'node')} left out: {why}"
        own = {(text(metadata(obj).get("namespace")), name_of(obj)) for obj in planned if obj["kind"] == LWS}
        waiting = (pod for pod in self.pods if not mapping(pod.get("spec")).get("nodeName"))
        sets = [(text(metadata(pod).get("namespace")), text(labels(pod).get(LWS_NAME))) for pod in waiting]
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
    for answer, what in ((nodes, "nodes"), (pods, "pods")):
        if answer.unknown:
            raise UnreachableError(f"cannot list {what} of the cluster: {answer.unknown}")
    return Nodes(
        supplies(nodes.objects, pods.objects),
        out=tuple(filter(None, map(out_of_service, nodes.objects))),
        pods=pods.objects,
        objects=tuple({"kind": "PriorityClass"} | obj for obj in classes.objects),
        assumed=(f"priorities are not known: {classes.unknown}",) if classes.unknown else (),
    )
