"""The CustomResourceDefinition of the InferenceTemplate.

Its pod template is upstream's (`catalog.schemas`), as a part: nothing is required but the keys by which items
merge, there are no defaults, and lists are atomic, since a part of a list says what it changes. A number may
be a variable.
"""

from dataclasses import replace
from functools import cache
from typing import Any, Final

from catalog.schemas import GATEWAY, HTTP_ROUTE, POD_TEMPLATE, schemas
from intent import Object
from intent.inferenceservice.crd import METADATA, definition, described, structural
from intent.inferenceservice.v1alpha1 import VERSION
from intent.inferencetemplate.v1alpha1 import KIND, PLURAL, SHORT, InferenceTemplate
from intent.tree import KEY_DEFAULTS, MERGE_KEYS

VARIABLE: Final = r"^\$\(.+\)$"
"""A text in place of a number."""
_NUMBER: Final = frozenset({"type", "format"})
"""Keywords of a number that a variable does not have."""
_OF_A_WHOLE: Final = frozenset(
    {"required", "minItems", "minProperties", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"}
)
"""Keywords about an object or a list that is complete."""


def crd() -> Object:
    """Return the definition as installed."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
        ],
        "schema": {"openAPIV3Schema": schema()},
    }
    return definition(KIND, PLURAL, SHORT, version)


@cache
def schema() -> Object:
    """Return the schema of the whole object."""
    generated = InferenceTemplate.model_json_schema()
    whole = structural(generated, generated["$defs"])
    spec = part(whole["properties"]["spec"])
    pods, router = spec["properties"]["pods"]["items"]["properties"], spec["properties"]["router"]
    pods["template"] = described(pods["template"], replace(schemas()[POD_TEMPLATE], root=pod_template()))
    for name, upstream in (("httproute", HTTP_ROUTE), ("gateway", GATEWAY)):
        whole_spec = schemas()[upstream]
        partial = replace(whole_spec, root=part(whole_spec.root))
        router["properties"][name] = described(router["properties"][name], partial)
    return whole | {"properties": {**whole["properties"], "spec": spec, **METADATA}, "required": ["spec"]}


@cache
def pod_template() -> Object:
    """Return the schema of a part of a pod template."""
    return with_variables(part(schemas()[POD_TEMPLATE].root))


def part(node: Object, field: str = "") -> Object:
    """Return the schema of a part of what `node` describes; `field` is the name of the list of an item."""
    kept = {key: value for key, value in node.items() if key not in _OF_A_WHOLE}
    keys = [key for key in MERGE_KEYS.get(field, ()) if key not in KEY_DEFAULTS]
    if keys and kept.get("type") == "object":
        kept["required"] = keys
    if kept.get("type") == "array":
        kept["x-kubernetes-list-type"] = "atomic"
    return _each(kept, part)


def with_variables(node: Object, _field: str = "") -> Object:
    """Return a schema in which a number, or a quantity, may be a variable."""
    if node.get("type") == "integer":
        kept: Object = {key: value for key, value in node.items() if key not in _NUMBER}
        return kept | {"x-kubernetes-int-or-string": True, "pattern": VARIABLE}
    if node.get("x-kubernetes-int-or-string") and "pattern" in node:
        return node | {"pattern": f"{VARIABLE}|{node['pattern']}"}
    return _each(node, with_variables)


def _each(node: Object, change: Any) -> Object:
    """Return a schema with the schemas of its fields, items and values changed."""
    changed = dict(node)
    if "properties" in node:
        fields = node["properties"].items()
        changed["properties"] = {name: _of_field(name, field, change) for name, field in fields}
    if isinstance(node.get("additionalProperties"), dict):
        changed["additionalProperties"] = change(node["additionalProperties"])
    return changed


def _of_field(name: str, node: Object, change: Any) -> Object:
    changed: Object = change(node)
    return changed | {"items": change(node["items"], name)} if "items" in node else changed
