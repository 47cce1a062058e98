"""Endpoint pickers: the real process of a Deployment that is stored, as its service account."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from intent import Object
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.containers import name_of, port_number, report, run_container
from tests.cluster.testbed.network import Network, add_pod, listens, remove_pods
from tests.cluster.testbed.probes import is_ready
from tests.cluster.testbed.processes import Process, alive, stop, tail
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


def start_picker(there: Network, namespace: str, name: str) -> Picker:
    """Run the picker of a Deployment."""
    return start_pickers(there, namespace, name, 1)[0]


def start_pickers(
    there: Network, namespace: str, name: str, count: int, *, beside: Sequence[Picker] = ()
) -> list[Picker]:
    """Run so many pickers of a Deployment, and none of those that run already."""
    running = {each.pod["metadata"]["uid"] for each in beside}

    def pods() -> list[Object]:
        found = _pods(there, namespace, name)
        return [pod for pod in found if pod["metadata"]["uid"] not in running]

    until(lambda: len(pods()) >= count, f"there are {count} new pods of {name}")
    return [run_picker(there, pod) for pod in pods()[:count]]


def end_pickers(there: Network, *pickers: Picker) -> None:
    """Wait until the pods of pickers are deleted, and end them."""
    uids = {each.pod["metadata"]["uid"] for each in pickers}
    pods = path("pods", pickers[0].pod["metadata"]["namespace"])

    def gone() -> bool:
        return uids.isdisjoint(pod["metadata"]["uid"] for pod in items(there.cluster.api, pods))

    until(gone, "the pods are deleted")
    for each in pickers:
        stop(each.process)
        remove_pods(there, name_of(each.pod))


def run_picker(there: Network, pod: Object) -> Picker:
    """Run the one container of a pod. It is told nothing but where the API server is."""
    return run_again(there, pod, add_pod(there, name_of(pod)))


def run_again(there: Network, pod: Object, address: str) -> Picker:
    """Run the one container of a pod that has its network, as after it has ended."""
    (container,) = pod["spec"]["containers"]
    namespace, name = pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]
    account = kubeconfig_of(there.cluster, there.api, namespace, name)
    process = run_container(there, pod, container, {"KUBECONFIG": str(account)})
    return Picker(pod, address, process)


def wait_picker(there: Network, picker: Picker) -> None:
    """Wait until it is ready, and report that; raise PickerNotReadyError if it does not get so."""

    def settled() -> bool:
        return serves(there, picker) or not alive(picker.process)

    with suppress(TimeoutError):
        until(settled, f"{picker.process.name} is ready")
    if not serves(there, picker):
        raise PickerNotReadyError(tail(picker.process))
    report(there.cluster, picker.pod, picker.address)


def serves(there: Network, picker: Picker) -> bool:
    """Return whether the kubelet would call it ready, and it takes connections on every port that it names.

    A picker with TLS says it serves up to 0.3 s before its port listens: it makes its key first.
    """
    ports = [int(each["containerPort"]) for each in picker.container.get("ports", ())]
    return is_ready(there, picker.pod) and all(listens(there, picker.address, port) for port in ports)


def servers_of(there: Network, pool: Object, pickers: list[Picker]) -> tuple[list[Picker], int]:
    """Return the pickers that a pool's reference leads to, by their Service, and the port there."""
    namespace, reference = pool["metadata"]["namespace"], pool["spec"]["endpointPickerRef"]
    service = get(there.cluster.api, path("services", namespace, reference["name"]))["spec"]
    asked = reference["port"]["number"]
    port = next(each for each in service["ports"] if each["port"] == asked)
    found = [
        each for each in pickers if service["selector"].items() <= each.pod["metadata"]["labels"].items()
    ]
    return found, port_number(found[0].container, port.get("targetPort", asked))


def pools(there: Network, namespace: str) -> dict[str, Object]:
    """Return the pools of a namespace by name."""
    found = items(there.cluster.api, path("inferencepools", namespace))
    return {each["metadata"]["name"]: each for each in found}


def _pods(there: Network, namespace: str, deployment: str) -> list[Object]:
    """List the pods that a Deployment has and keeps."""
    found = items(
        there.cluster.api, path("deployments", namespace), fieldSelector=f"metadata.name={deployment}"
    )
    chosen = [each["spec"]["selector"]["matchLabels"] for each in found]
    labels = ",".join(f"{name}={value}" for one in chosen for name, value in one.items())
    pods = items(there.cluster.api, path("pods", namespace), labelSelector=labels) if labels else []
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
