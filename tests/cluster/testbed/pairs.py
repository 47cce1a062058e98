"""Two controllers, each with a line of its own to the API server, and each told apart in the audit log."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from tests.cluster.testbed.api import delete
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import LEASE, controller_down, kubeconfig_through, metric
from tests.cluster.testbed.ours import start_sync
from tests.cluster.testbed.processes import Process, alive
from tests.cluster.testbed.relay import Relay, relay
from tests.cluster.testbed.wait import until

TIMING: Final = {"--lease-duration": 8, "--renew-deadline": 5, "--retry-period": 1}
"""A Lease that is lost soon, and not on a busy machine. Between clocks that differ by a third
a second is left."""
FIRST, SECOND = "sync", "sync-other"
"""The one that leads at first, and the one that waits; they are called as in the audit log."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two controllers of a cluster."""

    cluster: Cluster
    lines: Mapping[str, Relay]

    def process(self, name: str) -> Process:
        """Return the process of a controller."""
        return self.cluster.processes[name]

    def leads(self, name: str) -> bool:
        """Return whether a controller thinks that it leads; False if it has ended."""
        if not alive(self.process(name)):
            return False
        return bool(metric(self.cluster.ports[f"{name}-metrics"], "fusioninfer_sync_is_leader"))


@contextmanager
def pair(cluster: Cluster, modules: tuple[str, str] = ("fusioninfer", "fusioninfer")) -> Iterator[Pair]:
    """Run two controllers in place of the usual one until left; the first leads."""
    with controller_down(cluster), ExitStack() as stack:
        target = cluster.ports["kube-apiserver"]
        there = Pair(cluster, {name: stack.enter_context(relay(target)) for name in (FIRST, SECOND)})
        delete(cluster.api, LEASE)
        for name, module in zip(there.lines, modules, strict=True):
            stack.callback(kill_process, cluster, name)
            _start(there, name, module)
            until(lambda: there.leads(FIRST), "the first leads")
        yield there


def _start(there: Pair, name: str, module: str) -> None:
    own = {
        "--kubeconfig": kubeconfig_through(there.cluster, there.lines[name], name),
        "--metrics-port": there.cluster.ports[f"{name}-metrics"],
    }
    start_sync(there.cluster, name, {**own, **TIMING}, module)
