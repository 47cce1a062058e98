"""Plain manifests of a service, as the cluster holds them.

The pods of ejected LeaderWorkerSets keep their PodGroup, and their router its routes: what the controller
made stays without our marks of ownership. Nothing of a pod template changes, so nothing restarts.
"""

from typing import Any, Final

from fusioninfer.cluster.eject.service import LiveService, is_our_owner
from intent import Object
from intent.annotations import PREFIX
from intent.shapes import listed, mapping
from sync.kinds import LWS
from sync.observed.cached import SET_BY_SERVER
from webhook.overlay.written import LAST_APPLIED

OF_STORED: Final = SET_BY_SERVER | {"generateName"}
"""Fields of the metadata that belong to one stored object."""
SET_BY_CLIENTS: Final = frozenset({LAST_APPLIED, "deployment.kubernetes.io/revision"})
"""Annotations that belong to one stored object."""
ALLOCATED: Final = {"Service": frozenset({"clusterIP", "clusterIPs"})}
"""Fields of the spec that the API server allocates, by kind."""


def manifests(service: LiveService) -> tuple[Object, ...]:
    """Return the manifests of a service without problems, in the order in which they are applied."""
    return tuple(plain(one) for one in (*service.made, *service.members))


def plain(obj: Object) -> Object:
    """Return a stored object as a manifest: without status, what a server sets, and our marks."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in OF_STORED}
    known = mapping(metadata.get("labels"))
    cleaned = {
        "annotations": _without_marks(metadata.get("annotations")),
        "labels": known if obj["kind"] == LWS.kind else _without_marks(known),
        "ownerReferences": [
            one for one in listed(metadata.get("ownerReferences")) if not is_our_owner(mapping(one))
        ],
    }
    metadata = {key: cleaned.get(key, value) for key, value in metadata.items() if cleaned.get(key, value)}
    found = {key: value for key, value in obj.items() if key != "status"} | {"metadata": metadata}
    if allocated := ALLOCATED.get(obj["kind"]):
        found["spec"] = {key: value for key, value in obj["spec"].items() if key not in allocated}
    return found


def _without_marks(values: Any) -> Object:
    return {
        key: value
        for key, value in mapping(values).items()
        if not key.startswith(PREFIX) and key not in SET_BY_CLIENTS
    }
