"""The router of an InferenceService with the router parts of its templates.

They follow the templates as they are now, unlike pods: a changed route restarts nothing. The strategy by
which decoders get a sidecar stays the author's, since it is part of pods.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from intent import Object
from intent.inferenceservice.read import ROUTER_KEYS, InferenceServiceIntent, Router
from intent.merge import merged
from intent.priority import as_text
from intent.shapes import mapping, text

DECIDING: Final = frozenset({"strategy", "endpointPickerConfig", "configRef", "pool"})
"""Fields of a router of which one decides how requests are routed."""
_EITHER: Final = ("strategy", "endpointPickerConfig")
"""The fields of a template of which a later one replaces an earlier one."""


def filled(service: InferenceServiceIntent, specs: Iterable[Object]) -> InferenceServiceIntent:
    """Return a service whose router has, where its author wrote nothing, what templates say.

    `specs` are the specs of its templates, in order: later ones win.
    """
    if service.router is None:
        return service
    base: Object = {}
    priority = ""
    for spec in specs:
        part = mapping(spec.get("router"))
        kept = {
            key: value for key, value in base.items() if key not in _EITHER or part.keys().isdisjoint(_EITHER)
        }
        base, priority = merged(kept, part), as_text(spec.get("priority")) or priority
    return replace(service, router=_filled(service.router, base, priority))


def _filled(router: Router, base: Object, priority: str) -> Router:
    """Put the merged parts under a router."""
    routing = replace(
        router.routing,
        http_route=merged(mapping(base.get("httproute")), router.routing.http_route),
        priority=router.routing.priority or priority,
    )
    asked = (router.given & ROUTER_KEYS) | base.keys()
    if router.given.isdisjoint(DECIDING) and asked != {"ingress"}:
        config = text(base.get("endpointPickerConfig"))
        strategy = "" if config else text(base.get("strategy")) or router.default_strategy
        routing = replace(routing, strategy=strategy, config=config)
    return replace(router, routing=routing, gateway=merged(mapping(base.get("gateway")), router.gateway))
