"""The InferencePool of a service: the leaders of its groups, and the picker that chooses among them.

Source: kubernetes-sigs/gateway-api-inference-extension `api/v1/inferencepool_types.go`, as of v1.2. No
`appProtocol`: only CRDs since v1.4 have it.
"""

from typing import Final

from catalog.pickers.generations import POOLS
from intent import Object
from intent.annotations import LEADERS, SERVICE
from sync.desired.names import picker_name, pool_name
from sync.desired.render.metadata import metadata
from sync.desired.routes import Routes

API_VERSION: Final = f"{POOLS}/v1"
KIND: Final = "InferencePool"
GRPC_PORT: Final = 9002
"""Where a picker listens for gateways (Envoy's ext_proc)."""


def inference_pool(routes: Routes) -> Object:
    """Render the pool."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata(routes, pool_name(routes.service)),
        "spec": {
            "selector": {"matchLabels": {SERVICE: routes.service, **LEADERS}},
            "targetPorts": [{"number": routes.port}],
            "endpointPickerRef": {
                "name": picker_name(routes.service),
                "port": {"number": GRPC_PORT},
                "failureMode": failure_mode(routes),
            },
        },
    }


def failure_mode(routes: Routes) -> str:
    """Choose what happens while the picker is away: any leader will do, but not a prefiller."""
    return "FailClose" if routes.split else "FailOpen"


def backend(service: str) -> Object:
    """Refer to the pool from a route; no port, it would be ignored."""
    return {"group": POOLS, "kind": KIND, "name": pool_name(service)}
