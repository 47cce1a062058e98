"""A controller that is killed half way makes the rest when it is back."""

from typing import Final

from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import apply, becomes, kubeconfig_through, metric, other_controllers
from tests.cluster.testbed.relay import relay
from tests.cluster.testbed.services import made, offline, story
from tests.cluster.testbed.wait import until

CONTROLLER: Final = "sync-relayed"
SLOW: Final = 0.2
"""Seconds that each answer takes, so that there is a moment between two writes."""


def test_a_controller_killed_after_the_first_member_converges_to_the_command(
    served: Cluster, routed_namespace: str
) -> None:
    file = story("readme-disaggregated")
    expected = offline(served, routed_namespace, file)

    with relay(served.ports["kube-apiserver"]) as line:
        through = kubeconfig_through(served, line)
        with other_controllers(served, {CONTROLLER: {"--kubeconfig": through}}) as ports:
            until(lambda: metric(ports[CONTROLLER], "fusioninfer_sync_is_leader"), "it leads")
            line.delay = SLOW
            apply(served, routed_namespace, file)
            until(lambda: made(served, routed_namespace), "it has made something")
            kill_process(served, CONTROLLER)
            meanwhile = made(served, routed_namespace)

    assert expected == becomes(lambda: made(served, routed_namespace), expected)
    assert 0 < len(meanwhile) < len(expected)
