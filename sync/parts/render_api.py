"""Renders the Service `<service>-api`, and the Ingress to it (`networking.k8s.io/v1`)."""

from typing import Any, Final

from intent import Object
from intent.annotations import COMPONENT_TYPE, SERVICE
from intent.names import api_name
from intent.shapes import listed, mapping
from sync.parts.api import ApiPlan, ApiService, ingress_name
from sync.parts.metadata import metadata

PORT: Final = 80
"""The port of the Service: `curl http://<service>-api/v1/models` needs none. Further ranks have the next."""
PORT_NAME: Final = "http"


def api_objects(plan: ApiPlan) -> tuple[Object, ...]:
    """Render every object of the plan."""
    api = plan.api
    if api is None:
        return ()
    return (api_service(api),) if api.ingress is None else (api_service(api), ingress(api, api.ingress))


def api_service(api: ApiService) -> Object:
    """Render the Service; every expansion ever made has these labels in both templates."""
    selector = {SERVICE: api.service, COMPONENT_TYPE: api.component_type, **api.endpoints.selector}
    ports = [
        {
            "name": f"{PORT_NAME}-{at}" if at else PORT_NAME,
            "port": PORT + at,
            "targetPort": port,
            "protocol": "TCP",
        }
        for at, port in enumerate(api.endpoints.ports)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(api, api_name(api.service)),
        "spec": {"selector": selector, "ports": ports},
    }


def ingress(api: ApiService, spec: Object) -> Object:
    """Render the Ingress: the author's own, with the Service where no backend is named."""
    backend = {"service": {"name": api_name(api.service), "port": {"name": PORT_NAME}}}
    rules = [_rule(rule, backend) for rule in listed(spec.get("rules"))]
    filled = {**spec, "rules": rules} if rules else {"defaultBackend": backend, **spec}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata(api, ingress_name(api.service)),
        "spec": filled,
    }


def _rule(rule: Any, backend: Object) -> Any:
    """Add the backend to paths without one; a rule without paths gets one for all of its host."""
    if not isinstance(rule, dict):
        return rule
    paths = listed(mapping(rule.get("http")).get("paths")) or [{"path": "/", "pathType": "Prefix"}]
    filled = [{"backend": backend, **path} if isinstance(path, dict) else path for path in paths]
    return {**rule, "http": {"paths": filled}}
