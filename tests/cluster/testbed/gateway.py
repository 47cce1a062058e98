"""A gateway: the real Envoy, for the HTTPRoutes and InferencePools that are stored."""

import json
from typing import Final

from intent import Object
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.build import envoy
from tests.cluster.testbed.containers import port_number
from tests.cluster.testbed.envoy import PickerServer, configuration
from tests.cluster.testbed.network import Network, add_pod, file_of, listens, remove_pods, start_container
from tests.cluster.testbed.pickers import Picker, pools, servers_of
from tests.cluster.testbed.processes import alive, tail
from tests.cluster.testbed.wait import until

PORT: Final = 80
FLAGS: Final = (
    *("--disable-hot-restart", "--concurrency", "1"),
    *("--log-level", "warn", "--file-flush-interval-msec", "200"),
)


def start_gateway(there: Network, namespace: str, *pickers: Picker, name: str = "gateway") -> str:
    """Serve the routes of a namespace as now, in place of one before of that name; return `ADDRESS:PORT`."""
    routes = items(there.cluster.api, path("httproutes", namespace))
    servers = {name: _server(there, pool, list(pickers)) for name, pool in pools(there, namespace).items()}
    pod = f"{namespace}/{name}"
    remove_pods(there, pod)
    address = add_pod(there, pod)
    file = file_of(there, pod, "json")
    file.write_text(json.dumps(configuration((address, PORT), routes, servers)))
    process = start_container(there, pod, "envoy", (str(envoy()), "-c", str(file), *FLAGS))
    until(lambda: listens(there, address, PORT) or not alive(process), f"Envoy listens: {tail(process)}")
    assert alive(process), tail(process)
    return f"{address}:{PORT}"


def _server(there: Network, pool: Object, pickers: list[Picker]) -> PickerServer:
    found, port = servers_of(there, pool, pickers)
    container = found[0].container
    plain = {"--secure-serving=false", "-secure-serving=false"} & set(container.get("args", ()))
    health = port_number(container, "grpc-health")
    return PickerServer(tuple(each.address for each in found), port, not plain, health)
