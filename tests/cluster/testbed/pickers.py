"""Endpoint pickers: the real process of a Deployment that is stored, as its service account."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from intent import Object
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.containers import name_of, port_number, report, run_container
from tests.cluster.testbed.health import serving
from tests.cluster.testbed.network import Network, add_pod, ask, connect, listens
from tests.cluster.testbed.processes import Process, alive, tail
from tests.cluster.testbed.service_accounts import kubeconfig_of
from tests.cluster.testbed.wait import until


@dataclass(frozen=True, slots=True)
class Picker:
    """A picker that runs: its pod, its address and its process."""

    pod: Object
    address: str
    process: Process

    @property
    def container(self) -> Object:
        """Its one container."""
        (found,) = self.pod["spec"]["containers"]
        return dict(found)


class PickerNotReadyError(Exception):
    """A picker ended, or is not ready in time; the end of its log."""


def start_picker(there: Network, namespace: str, name: str, replica: int = 0) -> Picker:
    """Run the one container of a pod of a Deployment. It is told nothing but where the API server is."""
    pod = until(lambda: _pods(there, namespace, name)[replica:], f"there is a pod of {name}")[0]
    address = add_pod(there, name_of(pod))
    (container,) = pod["spec"]["containers"]
    account = kubeconfig_of(there.cluster, there.api, namespace, pod["spec"]["serviceAccountName"])
    process = run_container(there, pod, container, {"KUBECONFIG": str(account)})
    return Picker(pod, address, process)


def wait_picker(there: Network, picker: Picker, *, seconds: float = 30.0) -> None:
    """Wait until it is ready, and report that; raise PickerNotReadyError if it does not get so."""

    def settled() -> bool:
        return is_ready(there, picker) or not alive(picker.process)

    with suppress(TimeoutError):
        until(settled, f"{picker.process.name} is ready", seconds=seconds)
    if not is_ready(there, picker):
        raise PickerNotReadyError(tail(picker.process))
    report(there.cluster, picker.pod, picker.address)


def is_ready(there: Network, picker: Picker) -> bool:
    """Whether the kubelet would call it ready, and it takes connections on every port that it names.

    A picker with TLS says it serves up to 0.3 s before its port listens: it makes its key first.
    """
    ports = [int(each["containerPort"]) for each in picker.container.get("ports", ())]
    return _probed(there, picker) and all(listens(there, picker.address, port) for port in ports)


def server_of(there: Network, pool: Object, pickers: list[Picker]) -> tuple[Picker, int]:
    """Return the picker that a pool's reference leads to, by its Service, and the port there."""
    namespace, reference = pool["metadata"]["namespace"], pool["spec"]["endpointPickerRef"]
    service = get(there.cluster.api, path("services", namespace, reference["name"]))["spec"]
    asked = reference["port"]["number"]
    port = next(each for each in service["ports"] if each["port"] == asked)
    picker = next(
        each for each in pickers if service["selector"].items() <= each.pod["metadata"]["labels"].items()
    )
    return picker, port_number(picker.container, port.get("targetPort", asked))


def pools(there: Network, namespace: str) -> dict[str, Object]:
    """Return the pools of a namespace by name."""
    found = items(there.cluster.api, path("inferencepools", namespace))
    return {each["metadata"]["name"]: each for each in found}


def _pods(there: Network, namespace: str, deployment: str) -> list[Object]:
    """List the pods of a Deployment by name."""
    spec = get(there.cluster.api, path("deployments", namespace, deployment))["spec"]
    labels = ",".join(f"{name}={value}" for name, value in spec["selector"]["matchLabels"].items())
    found = items(there.cluster.api, path("pods", namespace), labelSelector=labels)
    stay = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
    return sorted(stay, key=lambda pod: str(pod["metadata"]["name"]))


def _probed(there: Network, picker: Picker) -> bool:
    probe = picker.container.get("readinessProbe", {})
    kind = next((kind for kind in _PROBES if kind in probe), "")
    try:
        return not kind or _PROBES[kind](there, picker, probe[kind])
    except OSError:
        return False


def _grpc(there: Network, picker: Picker, probe: Object) -> bool:
    with connect(there, picker.address, probe["port"]) as connection:
        return serving(connection, probe.get("service", ""))


def _http(there: Network, picker: Picker, probe: Object) -> bool:
    port = port_number(picker.container, probe["port"])
    return ask(there, f"{picker.address}:{port}", probe.get("path", "/")).status < 400


_PROBES: Final[dict[str, Callable[[Network, Picker, Object], bool]]] = {"grpc": _grpc, "httpGet": _http}
