"""Objects of many tiny things: a list of empty items, or a map of short fields, somewhere in a spec."""

from collections.abc import Callable
from typing import Any, Final

from intent import Object, budget
from tests.builders.isvc import isvc
from tests.builders.lws import changed, lws, template

_POD: Final = (
    *("tolerations", "volumes", "imagePullSecrets", "nodeSelector", "hostAliases.0.hostnames", "unknown"),
    *("containers.0.ports", "containers.0.volumeMounts", "containers.0.env", "containers.0.unknown"),
    *("containers.0.resources.limits", "containers.0.readinessProbe.httpGet.httpHeaders"),
)
"""Paths in the spec of a pod template."""
_ROUTER: Final = ("httproute.rules", "httproute.parentRefs", "gateway.listeners", "httproute.rules.0.filters")
"""Paths in a router."""
_TEMPLATE: Final = "leaderWorkerTemplate.workerTemplate"
PLACES: Final = (
    *(("LeaderWorkerSet", f"{_TEMPLATE}.spec.{path}") for path in _POD),
    *(("LeaderWorkerSet", path) for path in (f"{_TEMPLATE}.metadata.labels", "leaderWorkerTemplate.unknown")),
    *(("InferenceService", f"roles.0.template.spec.{path}") for path in _POD),
    *(("InferenceService", f"roles.1.{path}") for path in _ROUTER),
    *(("InferenceService", path) for path in ("roles", "roles.0.lora", "roles.0.scaling.metrics", "unknown")),
)
"""Kinds, and paths in their specs."""
THINGS: Final[dict[str, Callable[[int], Any]]] = {
    "empty maps": lambda count: [{} for _ in range(count)],
    "numbers": lambda count: [0] * count,
    "texts": lambda count: [f"{at}" for at in range(count)],
    "nested lists": lambda count: [[[]] for _ in range(count // 2)],
    "named items": lambda count: [{"name": f"{at}"} for at in range(count // 2)],
    "equal items": lambda count: [{"name": "a"} for _ in range(count // 2)],
    "fields": lambda count: {f"{at}": "1" for at in range(count)},
    "null fields": lambda count: {f"{at}": None for at in range(count)},
    "fields of maps": lambda count: {f"{at}": {} for at in range(count)},
}
"""Values of a number of items and fields."""
MOST: Final = budget.ITEMS.most - 200
"""Items and fields of a value with which an object is still under the limit."""
FAR_OVER: Final = 300_000


def tiny(kind: str, path: str, things: str, count: int) -> Object:
    """Return an object of a kind with many things at a path in its spec."""
    live = isvc() if kind == "InferenceService" else lws(worker=_template())
    if kind == "InferenceService":
        roles = [
            {"name": "w", "componentType": "worker", "template": _template()},
            {"name": "router", "componentType": "router", "httproute": {"rules": [{}]}},
        ]
        live = changed(live, "spec.roles", roles)
    return changed(live, f"spec.{path}", THINGS[things](count))


def _template() -> Object:
    return changed(template(), "spec.hostAliases", [{"ip": "10.0.0.1"}])
