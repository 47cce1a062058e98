"""Routes as the controller renders them, stored without one; endpoint pickers with other configurations."""

import json
from typing import Any

from catalog.pickers.generations import Picker as Row
from intent import Object
from intent.annotations import Routing
from intent.settings import Settings
from sync.parts.endpoints import Endpoints
from sync.parts.picker import CONFIG_FILE
from sync.parts.routes import route_objects
from sync.parts.traffic import Routes
from tests.cluster.testbed.api import create, path
from tests.cluster.testbed.cluster import kubectl
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.pickers import Picker, run_picker


def routes(namespace: str, service: str, row: Row, config: str, **asked: Any) -> Routes:
    """Ask for a picker of a generation with a configuration."""
    routing = Routing(config=config, **asked)
    return Routes(namespace, service, row, Endpoints((8000,)), routing, Settings())


def store(there: Network, *wanted: Routes) -> None:
    """Store everything that routes are made of."""
    objects = [obj for each in wanted for obj in route_objects(each)]
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    kubectl(there.cluster, "apply", "--server-side", "--filename=-", stdin=json.dumps(listed))


def configured_with(there: Network, pod: Object, name: str, config: str) -> Picker:
    """Run a pod of a picker once more, with another configuration."""
    namespace = pod["metadata"]["namespace"]
    create(
        there.cluster.api,
        path("configmaps", namespace),
        {"metadata": {"name": name}, "data": {CONFIG_FILE: config}},
    )
    volumes = [volume | {"configMap": {"name": name}} for volume in pod["spec"]["volumes"]]
    renamed = {"metadata": pod["metadata"] | {"name": name}, "spec": pod["spec"] | {"volumes": volumes}}
    return run_picker(there, renamed)
