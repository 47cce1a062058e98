"""Each fault alone does no harm. Not part of `make test`: `make soak SOAK=scenarios` plays them all."""

from collections.abc import Iterator, Mapping

import pytest

from tests.cluster.alone.test_safety import NODES, say
from tests.cluster.safety.proxy import Proxy
from tests.cluster.safety.scenarios import SCENARIOS, played
from tests.cluster.safety.scene import controllers, scene
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.nodes import add_gpu_nodes


@pytest.fixture(scope="module")
def roomy(admitting: Cluster) -> Cluster:
    """A cluster with nodes."""
    add_gpu_nodes(admitting, NODES)
    return admitting


@pytest.fixture
def proxied(roomy: Cluster) -> Iterator[Mapping[str, Proxy]]:
    """Two controllers, each behind a proxy."""
    with controllers(roomy) as proxies:
        yield proxies


@pytest.mark.parametrize("title", SCENARIOS)
def test_a_fault_alone_does_no_harm(roomy: Cluster, proxied: Mapping[str, Proxy], title: str) -> None:
    with scene(roomy, proxied) as there:
        assert played(there, title, say) == []
