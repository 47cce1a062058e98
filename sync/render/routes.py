"""Everything that routes are made of, in the order in which it is applied.

The pool comes before the Deployment: without it a picker is not alive (`cmd/epp/runner/health.go`).
"""

from collections.abc import Callable
from typing import Any, Final

from intent import Object
from sync.render.destination_rule import destination_rule
from sync.render.gateway import gateway
from sync.render.http_route import http_route
from sync.render.picker import config_map, deployment, disruption_budget, elects, service
from sync.render.pool import inference_pool
from sync.render.rights import account, role, role_binding
from sync.routes import RoutePlan, Routes

PARTS: Final[tuple[tuple[Callable[[Routes], Object], Callable[[Routes], Any]], ...]] = (
    *((part, lambda _: True) for part in (account, role, role_binding, config_map, inference_pool)),
    (deployment, lambda _: True),
    (disruption_budget, elects),
    (service, lambda _: True),
    (destination_rule, lambda routes: routes.destination_rule),
    (gateway, lambda routes: routes.gateway),
    (http_route, lambda routes: routes.http_route),
)
"""How each is rendered, and who has it."""


def route_objects(plan: RoutePlan) -> tuple[Object, ...]:
    """Render every object that the routes of a service want."""
    routes = plan.routes
    if routes is None:
        return ()
    return tuple(part(routes) for part, is_wanted in PARTS if is_wanted(routes))
