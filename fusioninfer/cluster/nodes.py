"""The nodes of a plan: of a file, or of the cluster with the pods that are on them."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from fusioninfer.cluster.reader import Reader, UnreachableError
from fusioninfer.lint import documents
from fusioninfer.lint.documents import UnreadableFileError
from intent import Object
from intent.annotations import LWS_NAME
from intent.lws import KIND as LWS
from intent.shapes import labels, listed, mapping, metadata, text
from plan.supply import MOST_NODES, Supply, out_of_service, supply, with_pods

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

    def notes(self, planned: Iterable[Object]) -> tuple[str, ...]:
        """Return what the reader of a plan should know. `planned`: the objects of the files."""
        return (*self.assumed, *_left_out(self.out), *_others(self.pods, planned))


def _left_out(out: tuple[str, ...]) -> Iterator[str]:
    for why in sorted(set(out)):
        count = out.count(why)
        yield f"{count} node{' is' if count == 1 else 's are'} left out: {why}"


def _others(pods: Iterable[Object], planned: Iterable[Object]) -> Iterator[str]:
    """Say that pods which are not planned wait for nodes too."""
    own = {_identity(one) for one in planned if one.get("kind") == LWS}
    count = sum(
        not mapping(pod.get("spec")).get("nodeName")
        and (text(metadata(pod).get("namespace")), text(labels(pod).get(LWS_NAME))) not in own
        for pod in pods
    )
    if count:
        yield (
            f"{count} other pod{' waits' if count == 1 else 's wait'} for nodes in the cluster; they are not "
            "planned, and may take what is free first"
        )


def _identity(obj: Object) -> tuple[str, str]:
    return text(metadata(obj).get("namespace")), text(metadata(obj).get("name"))


# --- a file -----------------------------------------------------------------------------------------


def of_file(file: str) -> Nodes:
    """Read the nodes of a file: Nodes, or lists of them. Raises `UnreadableFileError`."""
    found = [one.object for one in documents.read([file])]
    nodes = [node for one in found for node in _of_document(one)]
    if problem := _problem(nodes):
        raise UnreadableFileError(f"{documents.printable(file)}: {problem}")
    return _in_service(nodes, file)


def _problem(nodes: list[Object]) -> str:
    """Return why nodes cannot be counted; empty if they can."""
    if not nodes:
        return "contains no Node"
    names = Counter(text(metadata(one).get("name")) for one in nodes)
    if names[""]:
        return f"{names['']} of {len(nodes)} nodes have no metadata.name; each counts once, by its name"
    name, count = names.most_common(1)[0]
    if count > 1:
        return f"contains Node {documents.printable(name)} {count} times; remove all but one"
    return ""


def _of_document(obj: Object) -> Iterator[Object]:
    if obj.get("kind") == "Node":
        yield obj
    elif obj.get("kind") == "NodeList":
        yield from (mapping(one) for one in listed(obj.get("items")))


def _in_service(nodes: Iterable[Object], source: str) -> Nodes:
    """Return the nodes that take pods. Raises `UnreadableFileError` if there are too many."""
    states = [(node, out_of_service(node)) for node in nodes]
    if len(states) > MOST_NODES:
        raise UnreadableFileError(
            f"{documents.printable(source)}: more than {MOST_NODES} nodes are not planned"
        )
    supplies = tuple(supply(node) for node, why in states if not why)
    return Nodes(supplies, tuple(why for _, why in states if why))


# --- the cluster ------------------------------------------------------------------------------------


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
    try:
        found = _in_service(nodes.objects, "the cluster")
    except UnreadableFileError as error:
        raise UnreachableError(str(error)) from error
    return replace(
        found,
        supplies=with_pods(found.supplies, pods.objects),
        pods=pods.objects,
        objects=tuple({"kind": "PriorityClass"} | one for one in classes.objects),
        assumed=(f"priorities are not known: {classes.unknown}",) if classes.unknown else (),
    )
