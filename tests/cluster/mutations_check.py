"""Each old fault of the controller, put back, is caught by the law. `make soak SOAK=mutations` tries all."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from tests.cluster.alone.test_safety import NODES, say
from tests.cluster.safety.faults import nested_text
from tests.cluster.safety.mutations import MUTATIONS
from tests.cluster.safety.scenarios import played
from tests.cluster.safety.scene import controllers, scene
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.cluster.testbed.wait import until

DEFINITION: Final = ("crd", "inferenceservices.fusioninfer.io")
UNPRUNED: Final = (
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/roles/items/properties/template"
    "/x-kubernetes-preserve-unknown-fields"
)


@pytest.fixture(scope="module")
def roomy(admitting: Cluster) -> Cluster:
    """A cluster with nodes."""
    add_gpu_nodes(admitting, NODES)
    return admitting


@pytest.fixture
def definition(roomy: Cluster, name: str) -> Iterator[None]:
    """The definition that the mutation needs, before the controllers start."""
    if not MUTATIONS[name].is_unpruned:
        yield
        return
    with unpruned(roomy):
        yield


@contextmanager
def unpruned(cluster: Cluster) -> Iterator[None]:
    """Have the API server keep any field of a template, and wait until it does."""
    patched(cluster, op="add", value=True)
    try:
        until(lambda: is_stored_whole(cluster), "nothing of a template is pruned")
        yield
    finally:
        patched(cluster, op="remove")


def patched(cluster: Cluster, **operation: object) -> None:
    """Patch the definition."""
    text = json.dumps([{"path": UNPRUNED, **operation}])
    kubectl(cluster, "patch", *DEFINITION, "--type=json", f"--patch={text}")


def is_stored_whole(cluster: Cluster) -> bool:
    """Return whether a dry run would store a nested template as it was sent."""
    words = ("create", "--dry-run=server", "--validate=false", "--output=json", "--filename=-")
    done = run_kubectl(cluster, *words, stdin=nested_text(10))
    return '"deep"' in done.stdout


@pytest.mark.usefixtures("definition")
@pytest.mark.parametrize("name", MUTATIONS)
def test_an_old_fault_is_caught(roomy: Cluster, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SAFETY_MUTATION", name)
    module = "tests.cluster.safety.mutated"
    with controllers(roomy, module) as proxies, scene(roomy, proxies) as there:
        assert played(there, MUTATIONS[name].scenario, say)
