"""Everything that routes are made of, in the order in which it is applied.

The pool comes before the Deployment: without it a picker is not alive (`cmd/epp/runner/health.go`).
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from intent import Object
from sync.desired.render.destination_rule import destination_rule
from sync.desired.render.gateway import gateway
from sync.desired.render.http_route import http_route
from sync.desired.render.picker import config_map, deployment, disruption_budget, elects, service
from sync.desired.render.pool import inference_pool
from sync.desired.render.rights import account, role, role_binding
from sync.desired.routes import RoutePlan, Routes

Part = Callable[[Routes], Object]


def _everybody(_routes: Routes) -> bool:
    return True


PARTS: Final[tuple[tuple[Part, Callable[[Routes], Any]], ...]] = (
    (account, _everybody),
    (role, _everybody),
    (role_binding, _everybody),
    (config_map, _everybody),
    (inference_pool, _everybody),
    (deployment, _everybody),
    (disruption_budget, elects),
    (service, _everybody),
    (destination_rule, attrgetter("destination_rule")),
    (gateway, attrgetter("gateway")),
    (http_route, attrgetter("http_route")),
)
"""How each is rendered, and who has it."""


def route_objects(plan: RoutePlan) -> tuple[Object, ...]:
    """Render every object that the routes of a service want."""
    routes = plan.routes
    if routes is None:
        return ()
    return tuple(part(routes) for part, is_wanted in PARTS if is_wanted(routes))
