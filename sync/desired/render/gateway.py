"""The Gateway of a service's own, as its author wrote it.

Source: kubernetes-sigs/gateway-api `apis/v1/gateway_types.go`.
"""

from typing import Final

from intent import Object
from sync.desired.names import gateway_name
from sync.desired.render.http_route import API_VERSION
from sync.desired.render.metadata import metadata
from sync.desired.routes import Routes

KIND: Final = "Gateway"


def gateway(routes: Routes) -> Object:
    """Render the Gateway."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata(routes, gateway_name(routes.service)),
        "spec": routes.gateway,
    }
