"""A sidecar that an expansion left behind: its record is lost, and the engine has its author's port again.

The record can be removed while the webhooks are absent. A file that is applied afterwards sets the engine's
port back, and does not mention the sidecar, so that both would listen on one port. Such a sidecar is not the
author's: it is taken out of the original, and injected again.
"""

from typing import Any

from intent import Object
from intent.container import ROUTING_PROXY
from intent.lws import Intent
from intent.shapes import listed, mapping
from webhook.move import moved_ports
from webhook.overlay.record import Record


def without_leftover(original: Object, intent: Intent | None, record: Record) -> Object:
    """Return the object without such a sidecar; the same object if it has none.

    A sidecar of the record that was edited since stays in the original, and is an error (FI850).
    """
    if intent is None or not intent.sidecar or not intent.templates:
        return original
    leader = intent.templates[0]
    if not leader.ports.behind or leader.engine is None or any(moved_ports(leader.engine)):
        return original
    if any(map(_is_proxy, _init_containers(record.put_on, leader.field))):
        return original
    group = original["spec"]["leaderWorkerTemplate"]
    spec = dict(group[leader.field]["spec"])
    spec["initContainers"] = [one for one in spec["initContainers"] if not _is_proxy(one)]
    if not spec["initContainers"]:
        del spec["initContainers"]
    template = {**group[leader.field], "spec": spec}
    whole = {**original["spec"], "leaderWorkerTemplate": {**group, leader.field: template}}
    return {**original, "spec": whole}


def _init_containers(overlay: Object, field: str) -> list[Any]:
    group = mapping(mapping(overlay.get("spec")).get("leaderWorkerTemplate"))
    return listed(mapping(mapping(group.get(field)).get("spec")).get("initContainers"))


def _is_proxy(container: Any) -> bool:
    return bool(mapping(container).get("name") == ROUTING_PROXY)
