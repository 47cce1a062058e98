"""Whether the kubelet would call a pod ready: the probes of its containers, asked as it asks them."""

from collections.abc import Callable, Iterator
from typing import Final

from intent import Object
from tests.cluster.testbed.containers import name_of, port_number
from tests.cluster.testbed.health import serving
from tests.cluster.testbed.network import Network, ask, connect

PROBES: Final = ("startupProbe", "readinessProbe")
"""Until a startup probe succeeds a container is not ready either (kubelet `pkg/kubelet/prober`)."""
ATTEMPT: Final = 5.0
"""Seconds for the answer to one attempt. The kubelet allows one by default, and asks again: a server that is
just starting may take a connection and never answer on it."""


def is_ready(there: Network, pod: Object) -> bool:
    """Return whether every probe of a pod that runs succeeds."""
    address = there.addresses[name_of(pod)]
    return all(
        _succeeds(there, address, container, container[probe])
        for container in _containers(pod)
        for probe in PROBES
        if probe in container
    )


def _containers(pod: Object) -> Iterator[Object]:
    """Return the containers that run on: those of the pod, and its sidecars."""
    for container in pod["spec"].get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            yield container
    yield from pod["spec"]["containers"]


def _succeeds(there: Network, address: str, container: Object, probe: Object) -> bool:
    kind = next(kind for kind in _KINDS if kind in probe)
    try:
        return _KINDS[kind](there, address, container, probe[kind])
    except OSError:
        return False


def _grpc(there: Network, address: str, _container: Object, probe: Object) -> bool:
    with connect(there, address, probe["port"], ATTEMPT) as connection:
        return serving(connection, probe.get("service", ""))


def _http(there: Network, address: str, container: Object, probe: Object) -> bool:
    port = port_number(container, probe["port"])
    return ask(there, f"{address}:{port}", probe.get("path", "/"), seconds=ATTEMPT).status < 400


_KINDS: Final[dict[str, Callable[[Network, str, Object, Object], bool]]] = {"grpc": _grpc, "httpGet": _http}
