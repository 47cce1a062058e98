"""Endpoint pickers: the real process of a Deployment that is stored, as its service account."""

from contextlib import suppress
from dataclasses import dataclass

from intent import Object
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.containers import name_of, port_number, report, run_container
from tests.cluster.testbed.network import Network, add_pod, listens, remove_pods
from tests.cluster.testbed.probes import is_ready
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


def start_picker(there: Network, namespace: str, name: str, *, instead_of: Picker | None = None) -> Picker:
    """Run the picker of a Deployment; `instead_of` is the one of a pod before, which ends."""
    before = instead_of.pod["metadata"]["uid"] if instead_of else ""
    pod = until(lambda: _pods(there, namespace, name, before), f"there is a pod of {name}")[0]
    if instead_of:
        remove_pods(there, name_of(instead_of.pod))
    return run_picker(there, pod)


def run_picker(there: Network, pod: Object) -> Picker:
    """Run the one container of a pod. It is told nothing but where the API server is."""
    address = add_pod(there, name_of(pod))
    (container,) = pod["spec"]["containers"]
    namespace, name = pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]
    account = kubeconfig_of(there.cluster, there.api, namespace, name)
    process = run_container(there, pod, container, {"KUBECONFIG": str(account)})
    return Picker(pod, address, process)


def wait_picker(there: Network, picker: Picker, *, seconds: float = 30.0) -> None:
    """Wait until it is ready, and report that; raise PickerNotReadyError if it does not get so."""

    def settled() -> bool:
        return serves(there, picker) or not alive(picker.process)

    with suppress(TimeoutError):
        until(settled, f"{picker.process.name} is ready", seconds=seconds)
    if not serves(there, picker):
        raise PickerNotReadyError(tail(picker.process))
    report(there.cluster, picker.pod, picker.address)


def serves(there: Network, picker: Picker) -> bool:
    """Whether the kubelet would call it ready, and it takes connections on every port that it names.

    A picker with TLS says it serves up to 0.3 s before its port listens: it makes its key first.
    """
    ports = [int(each["containerPort"]) for each in picker.container.get("ports", ())]
    return is_ready(there, picker.pod) and all(listens(there, picker.address, port) for port in ports)


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


def _pods(there: Network, namespace: str, deployment: str, before: str) -> list[Object]:
    """List the pods that a Deployment has and keeps, but for one, by its uid."""
    found = items(
        there.cluster.api, path("deployments", namespace), fieldSelector=f"metadata.name={deployment}"
    )
    chosen = [each["spec"]["selector"]["matchLabels"] for each in found]
    labels = ",".join(f"{name}={value}" for one in chosen for name, value in one.items())
    pods = items(there.cluster.api, path("pods", namespace), labelSelector=labels) if labels else []
    staying = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return [pod for pod in staying if pod["metadata"]["uid"] != before]
