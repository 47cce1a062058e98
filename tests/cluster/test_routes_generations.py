"""Each generation of endpoint pickers, alone and as one of two: it serves as its ServiceAccount."""

from typing import Final

import pytest

from intent import Object, yaml
from sync.parts.strategies import preset
from tests.cluster.testbed.api import create, items, path
from tests.cluster.testbed.engines import run_pods
from tests.cluster.testbed.flows import ROUTE, namespace_on
from tests.cluster.testbed.gateway import start_gateway
from tests.cluster.testbed.images import BUILT
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.pickers import start_picker, wait_picker
from tests.cluster.testbed.rendered import routes, store
from tests.tiers import WHOLE

TRIED: Final = [
    (name, replicas)
    for at, name in enumerate(BUILT)
    for replicas in (1, 2)
    if WHOLE or replicas == 1 + at % 2
]
"""Generations, and how many pickers there are. `make soak SOAK=pickers` tries each both ways."""
ENGINE: Final[Object] = {
    "metadata": {
        "name": "a",
        "labels": {"fusioninfer.io/service": "demo", "leaderworkerset.sigs.k8s.io/worker-index": "0"},
    },
    "spec": {"nodeName": "elsewhere", "containers": [{"name": "vllm", "image": "vllm"}]},
}
"""A pod that nobody made but this test."""


@pytest.mark.parametrize(("generation", "replicas"), TRIED)
def test_a_picker_serves_as_its_service_account(
    served_network: Network, generation: str, replicas: int
) -> None:
    """One of several leads."""
    row, api = BUILT[generation], served_network.cluster.api
    with namespace_on(served_network) as namespace:
        create(api, path("pods", namespace), ENGINE)
        run_pods(served_network, namespace, "a")
        config = yaml.dump(preset(row, "queue-size"))
        store(
            served_network, routes(namespace, "demo", row, config, http_route=ROUTE, picker_replicas=replicas)
        )
        picker = start_picker(served_network, namespace, "demo-epp")
        wait_picker(served_network, picker)
        gateway = start_gateway(served_network, namespace, picker)

        answer = ask(served_network, gateway, "/v1/completions", {"model": "stand-in", "prompt": "Hello"})
        leases = items(api, path("leases", namespace))

    assert (answer.status, dict(answer.body)["engine"]) == (200, "a")
    held = [(one["metadata"]["name"], bool(one["spec"]["holderIdentity"])) for one in leases]
    lease = f"epp-{namespace}-demo-pool.gateway-api-inference-extension.sigs.k8s.io"
    assert held == ([(lease, True)] if replicas > 1 else [])
