"""The structural schema of the InferenceService, made from its models (`apiextensions.k8s.io/v1`)."""

from functools import cache
from typing import Final

from intent import Object
from intent.inferenceservice.v1alpha1 import InferenceService

_LEFT_OUT: Final = frozenset({"title", "default", "$defs"})
"""What a structural schema may not hold, and defaults: nobody of ours sets a field that is absent."""
_METADATA: Final = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}
"""What every resource has, and the API server checks by itself."""


@cache
def schema() -> Object:
    """Give the schema of the whole object, references resolved."""
    made = InferenceService.model_json_schema()
    whole = _structural(made, made["$defs"])
    return whole | {"properties": whole["properties"] | _METADATA, "required": ["spec"]}


def fields_at(path: tuple[int | str, ...]) -> tuple[str, ...]:
    """Name the fields of the object at a path; none where nothing is known of it."""
    node = schema()
    for step in path:
        node = node.get("items", {}) if isinstance(step, int) else node.get("properties", {}).get(step, {})
    return tuple(node.get("properties", ()))


def _structural(node: Object, definitions: Object) -> Object:
    """Resolve references, and say in Kubernetes' words what may hold anything."""
    if "$ref" in node:
        return _structural(definitions[node["$ref"].rpartition("/")[2]], definitions)
    kept = {key: item for key, item in node.items() if key not in _LEFT_OUT}
    if "description" in kept:
        kept["description"] = " ".join(kept["description"].split())
    beside = kept.pop("additionalProperties", False)
    if beside is True:
        kept["x-kubernetes-preserve-unknown-fields"] = True
    elif beside:
        kept["additionalProperties"] = _structural(beside, definitions)
    if "items" in kept:
        kept["items"] = _structural(kept["items"], definitions)
    if "properties" in kept:
        fields = kept["properties"].items()
        kept["properties"] = {name: _structural(field, definitions) for name, field in fields}
    return kept
