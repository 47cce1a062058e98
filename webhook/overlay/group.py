"""The LeaderWorkerTemplate of an object or an overlay, and the pod templates in it; any JSON may be there."""

from collections.abc import Callable
from typing import Final

from intent import Object
from intent.shapes import listed, mapping
from intent.tree import by_identity

LEADER: Final = "leaderTemplate"
WORKER: Final = "workerTemplate"


def group_of(lws: Object | None) -> Object:
    """Return the LeaderWorkerTemplate of an object or an overlay."""
    return mapping(mapping(mapping(lws).get("spec")).get("leaderWorkerTemplate"))


def with_group(lws: Object, group: Object) -> Object:
    """Return an object with another LeaderWorkerTemplate."""
    return {**lws, "spec": {**mapping(lws.get("spec")), "leaderWorkerTemplate": group}}


def template_of(lws: Object | None, field: str) -> Object:
    """Return a pod template of an object or an overlay."""
    return mapping(group_of(lws).get(field))


def templates_of(lws: Object) -> Object:
    """Return the pod templates of an object by field."""
    group = group_of(lws)
    return {name: group[name] for name in (WORKER, LEADER) if isinstance(group.get(name), dict)}


def pod_of(template: Object) -> Object:
    """Return the spec of a pod template."""
    return mapping(template.get("spec"))


def containers_of(template: Object) -> dict[str, Object]:
    """Return the containers of a pod template by name."""
    return by_identity("containers", pod_of(template).get("containers"))


def with_containers(template: Object, change: Callable[[Object], Object]) -> Object:
    """Return a pod template with each of its containers changed."""
    spec = pod_of(template)
    items = [change(one) if isinstance(one, dict) else one for one in listed(spec.get("containers"))]
    return {**template, "spec": {**spec, "containers": items}} if items else template
