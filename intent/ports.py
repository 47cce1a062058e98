"""The container ports of a pod that gets a sidecar, and whether its author brings one."""

from collections.abc import Iterator
from typing import Final

from intent import Object
from intent.lws import Ports
from intent.shapes import listed, mapping, text

ROUTING_PROXY: Final = "routing-proxy"
"""The sidecar's container, as llm-d's charts name it."""


def read_ports(spec: Object, path: str, engine: str) -> Ports:
    """Read the ports of all containers, and the names of those of the engine."""
    containers = list(_containers(spec, path))
    own = (where for where, name in containers if name.get("name") == ROUTING_PROXY)
    taken = {port for _, container in containers for port, _ in _ports(container)}
    engines = (container for _, container in containers if engine and container.get("name") == engine)
    named = tuple((name, port) for container in engines for port, name in _ports(container) if name)
    return Ports(tuple(sorted(taken)), named, next(own, ""))


def _containers(spec: Object, path: str) -> Iterator[tuple[str, Object]]:
    for field in ("initContainers", "containers"):
        for at, item in enumerate(listed(spec.get(field))):
            yield f"{path}.{field}[{at}]", mapping(item)


def _ports(container: Object) -> Iterator[tuple[int, str]]:
    for item in listed(container.get("ports")):
        port = mapping(item).get("containerPort")
        if type(port) is int:
            yield port, text(mapping(item).get("name"))
