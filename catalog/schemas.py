"""Schemas of upstream, from `schemas.json`: of fields that an InferenceService embeds, and of kinds in files.

`make generate NAME=schemas` writes the file from the definitions in upstream's Go modules, whose versions it
names (`hack/upstream.py`). It is part of the package, and is read once, as a module is.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

POD_TEMPLATE: Final = "PodTemplateSpec"
HTTP_ROUTE: Final = "HTTPRouteSpec"
GATEWAY: Final = "GatewaySpec"
INGRESS: Final = "IngressSpec"
AUTOSCALER: Final = "HorizontalPodAutoscalerSpec"
"""Without `scaleTargetRef`: a role has one target."""
ROLLOUT: Final = "RolloutStrategy"
LEADER_WORKER_SET: Final = "LeaderWorkerSetSpec"
DISAGGREGATED_SET: Final = "DisaggregatedSetSpec"
OBJECT_META: Final = "ObjectMeta"
"""The names of the schemas: upstream's Go types."""
SINCE: Final = "x-since"
"""In a schema of a field, the release that has it first, and that is not the one of the other fields."""
REF: Final = "$ref"
"""In the file, the name of another schema, which stands here: upstream writes each of them out."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A structural schema, as in a CustomResourceDefinition."""

    source: str
    """The Go module and its version."""
    root: dict[str, Any]


@cache
def schemas() -> Mapping[str, Schema]:
    """Read the schemas, by their names."""
    entries = json.loads(files("catalog").joinpath("schemas.json").read_text(encoding="utf-8"))
    roots = {name: entry["schema"] for name, entry in entries.items()}
    return {name: Schema(entry["source"], _resolved(roots[name], roots)) for name, entry in entries.items()}


@cache
def with_later_fields(name: str) -> Schema:
    """Return a schema with the fields of later releases, of `later_fields.json`, which is written by hand."""
    known = schemas()[name]
    later = json.loads(files("catalog").joinpath("later_fields.json").read_text(encoding="utf-8"))
    return Schema(known.source, _joined(known.root, later[name]["schema"])) if name in later else known


def _joined(node: Any, more: Any) -> Any:
    if not isinstance(node, dict):
        return more
    return node | {key: _joined(node.get(key), below) for key, below in more.items()}


def _resolved(node: dict[str, Any], roots: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Put the named schemas into their places, once each: `node` is changed."""
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            node[key] = _resolved(node[key], roots)
    if "properties" in node:
        node["properties"] = {name: _resolved(field, roots) for name, field in node["properties"].items()}
    return _resolved(roots[node[REF]], roots) if REF in node else node
