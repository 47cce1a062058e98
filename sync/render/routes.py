"""Everything that routes are made of, in the order in which it is applied.

The pool comes before the Deployment: without it a picker is not alive (`cmd/epp/runner/health.go`).
"""

from intent import Object
from sync.render.gateway import gateway
from sync.render.http_route import http_route
from sync.render.picker import account, config_map, deployment, role, role_binding, service
from sync.render.pool import inference_pool
from sync.routes import RoutePlan


def route_objects(plan: RoutePlan) -> tuple[Object, ...]:
    """Render every object that the routes of a service want."""
    routes = plan.routes
    if routes is None:
        return ()
    parts = (account, role, role_binding, config_map, inference_pool, deployment, service)
    gateways = (gateway(routes),) if routes.gateway else ()
    route = (http_route(routes),) if routes.http_route else ()
    return (*(part(routes) for part in parts), *gateways, *route)
