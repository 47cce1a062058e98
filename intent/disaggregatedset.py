"""DisaggregatedSets in files: the LeaderWorkerSets that LWS's controller makes of them.

Source: LWS v0.9.0 `api/disaggregatedset/v1`, `pkg/controllers/disaggregatedset/lws_manager.go` (`Create`) and
`pkg/utils/disaggregatedset/utils.go`; for slices the same files of v0.10.0. Admission sees these
LeaderWorkerSets, never the DisaggregatedSet.
"""

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

import orjson

from intent import Object
from intent.annotations import REVISION, SLICE
from intent.errors import FieldError
from intent.lws import API_VERSION as LWS_API_VERSION
from intent.lws import KIND as LWS
from intent.lws import TEMPLATES
from intent.shapes import listed, mapping, text

KIND: Final = "DisaggregatedSet"
GROUP: Final = "disaggregatedset.x-k8s.io"
NAME: Final = f"{GROUP}/name"
ROLE: Final = f"{GROUP}/role"
REVISION_LENGTH: Final = 8
MOST_SLICES: Final = 100


def leader_worker_sets(obj: Object, revision: str = "") -> tuple[tuple[int, Object], ...]:
    """Return the LeaderWorkerSet of each role, one slice after the other, with the index of the role.

    The revision is a hash as in the cluster, and another one: the API server sets defaults before LWS hashes.
    """
    roles = [
        (index, role) for index, item in enumerate(_roles(obj)) if text((role := mapping(item)).get("name"))
    ]
    revision = revision or _revision([role for _, role in roles])
    owner = mapping(obj.get("metadata"))
    return tuple(
        (index, _leader_worker_set(owner, role, revision, part))
        for part in _slices(obj)
        for index, role in roles
    )


def is_external(role: Object) -> bool:
    """Return whether the replicas of a role are those of its DisaggregatedSetRoleScaler."""
    return mapping(role.get("scaling")).get("mode") == "External"


def _slices(obj: Object) -> Iterable[str]:
    """Return the numbers of the slices; an empty one if nothing says that the set is for LWS 0.10.

    In a cluster that has slices, the API server adds `slices: 1`.
    """
    spec = mapping(obj.get("spec"))
    if not (
        {"slices", "placementPolicy"} & spec.keys() or any("scaling" in mapping(role) for role in _roles(obj))
    ):
        return ("",)
    count = spec.get("slices")
    return map(str, range(max(1, min(count, MOST_SLICES)) if type(count) is int else 1))


def at_role(error: FieldError, index: int) -> FieldError:
    """Return an error about the LeaderWorkerSet of a role with the path in the DisaggregatedSet."""
    if error.path == "metadata.name":  # made of the names of the set and of the role
        return replace(error, path=f"spec.roles[{index}].name")
    return FieldError(
        f"spec.roles[{index}].{error.path}", error.value, error.message, error.code, error.softened
    )


def _roles(obj: Object) -> list[Any]:
    return listed(mapping(obj.get("spec")).get("roles"))


def _revision(roles: list[Object]) -> str:
    hashed = [
        {"name": role["name"], "template": mapping(role.get("spec")).get("leaderWorkerTemplate")}
        for role in roles
    ]
    return sha256(orjson.dumps(hashed, option=orjson.OPT_SORT_KEYS)).hexdigest()[:REVISION_LENGTH]


def _leader_worker_set(owner: Object, role: Object, revision: str, part: str) -> Object:
    """Return the LeaderWorkerSet of a role in a slice. Without `replicas` if these are a scaler's."""
    name, metadata, spec = text(owner.get("name")), mapping(role.get("metadata")), mapping(role.get("spec"))
    first = f"{name}-{part}" if part else name
    labels = {"app": f"{first}-{role['name']}", ROLE: role["name"], NAME: name, REVISION: revision}
    labels |= {SLICE: part} if part else {}
    group = mapping(spec.get("leaderWorkerTemplate"))
    templates = {key: _labelled(mapping(group[key]), labels) for key in TEMPLATES if key in group}
    fields = {
        "name": f"{first}-{revision}-{role['name']}",
        "namespace": owner.get("namespace"),
        "labels": mapping(metadata.get("labels")) | labels,
        "annotations": metadata.get("annotations"),
    }
    return {
        "apiVersion": LWS_API_VERSION,
        "kind": LWS,
        "metadata": {key: value for key, value in fields.items() if value is not None},
        "spec": {
            **{key: value for key, value in spec.items() if key != "replicas" or not is_external(role)},
            "leaderWorkerTemplate": {**group, **templates},
        },
    }


def _labelled(template: Object, labels: Object) -> Object:
    metadata = mapping(template.get("metadata"))
    return {**template, "metadata": {**metadata, "labels": mapping(metadata.get("labels")) | labels}}
