"""Renders the Service `<service>-api`."""

from typing import Final

from intent import Object
from intent.annotations import COMPONENT_TYPE, LEADERS, SERVICE
from intent.names import api_name
from sync.desired.api import ApiPlan, ApiService
from sync.desired.render.metadata import metadata

PORT: Final = 80
"""The port of the Service: `curl http://<service>-api/v1/models` needs none."""
PORT_NAME: Final = "http"


def api_objects(plan: ApiPlan) -> tuple[Object, ...]:
    """Render every object of the plan."""
    return (api_service(plan.api),) if plan.api else ()


def api_service(api: ApiService) -> Object:
    """Render the Service; every expansion ever made has these labels in both templates."""
    selector = {SERVICE: api.service, COMPONENT_TYPE: api.component_type, **LEADERS}
    port = {"name": PORT_NAME, "port": PORT, "targetPort": api.port, "protocol": "TCP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(api, api_name(api.service)),
        "spec": {"selector": selector, "ports": [port]},
    }
