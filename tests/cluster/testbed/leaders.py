"""What kube-proxy and the DNS of a cluster do for pods that run as processes."""

import copy
from typing import Final

from intent import Object
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.wait import until

LEADER: Final = "LWS_LEADER_ADDRESS"


def ready_endpoint(there: Network, namespace: str, service: str) -> str:
    """Return a ready endpoint of a Service, which has one port: of a pod that runs as a process.

    Before the address of its process is reported, a pod has one that kwok made up.
    """
    labels = f"kubernetes.io/service-name={service}"

    def found() -> list[str]:
        return [
            f"{address}:{one['ports'][0]['port']}"
            for one in items(there.cluster.api, path("endpointslices", namespace), labelSelector=labels)
            for each in one["endpoints"] or ()
            if each["conditions"]["ready"]
            for address in each["addresses"]
            if address in there.addresses.values()
        ]

    return until(found, f"{service} has a ready endpoint")[0]


def with_leader(container: Object, address: str) -> Object:
    """Return a container whose variable with the leader's name has its address: there is no DNS here."""
    known = copy.deepcopy(container)
    for variable in known.get("env", ()):
        if variable["name"] == LEADER:
            variable["value"] = address
    return known
