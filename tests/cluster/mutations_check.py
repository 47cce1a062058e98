"""Each old fault of the controller, put back, is caught by the law. `make soak SOAK=mutations` tries all."""

import pytest

from tests.cluster.safety.mutations import MUTATIONS
from tests.cluster.safety.scenarios import played
from tests.cluster.safety.scene import controllers, scene
from tests.cluster.test_safety import NODES, say
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.nodes import add_gpu_nodes


@pytest.fixture(scope="module")
def roomy(admitting: Cluster) -> Cluster:
    """A cluster with nodes."""
    add_gpu_nodes(admitting, NODES)
    return admitting


@pytest.mark.parametrize("name", MUTATIONS)
def test_an_old_fault_is_caught(roomy: Cluster, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SAFETY_MUTATION", name)
    module = "tests.cluster.safety.mutated"
    with controllers(roomy, module) as proxies, scene(roomy, proxies) as there:
        assert played(there, MUTATIONS[name].scenario, say)
