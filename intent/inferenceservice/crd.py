"""The CustomResourceDefinition of the InferenceService: schema and printer columns.

The specs of other APIs have upstream's schemas (`catalog.schemas`). There are no CEL rules: the API server
lets an unchanged field be invalid (KEP-4008), but a rule of the whole spec refuses every later change of it.
Add a rule to `topology`, where an earlier error only warns.
"""

from copy import deepcopy
from functools import cache
from typing import Final

from catalog.schemas import (
    AUTOSCALER,
    GATEWAY,
    HTTP_ROUTE,
    INGRESS,
    POD_TEMPLATE,
    ROLLOUT,
    Schema,
    schemas,
)
from intent import Object
from intent.inferenceservice.v1alpha1 import (
    GROUP,
    KIND,
    PLURAL,
    VERSION,
    InferenceService,
)

COLUMNS: Final = (
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', 0),
    ("Replicas", "string", ".status.ready.replicas", 0),
    ("Reason", "string", '.status.conditions[?(@.type=="Ready")].reason', 0),
    ("URL", "string", ".status.url", 0),
    ("Scheduler", "string", ".spec.schedulingStrategy.schedulerName", 1),
    ("Age", "date", ".metadata.creationTimestamp", 0),
)
"""Name, type, path and priority (1: only with `-o wide`)."""
_LEFT_OUT: Final = frozenset({"title", "default", "$defs"})
"""Keywords that a structural schema must not have, and defaults, which the API server would store."""
METADATA: Final = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}
"""Fields of every resource, which the API server validates itself."""


LABELS: Final = {"app.kubernetes.io/name": "fusioninfer", "app.kubernetes.io/component": "api"}


def crd() -> Object:
    """Return the definition as installed."""
    return definition(KIND, PLURAL, "isvc", _version())


def definition(kind: str, plural: str, short: str, version: Object) -> Object:
    """Return the definition of a namespaced kind of our group, with one version."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}", "labels": LABELS},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [short],
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def _version() -> Object:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": name, "type": kind, "jsonPath": path, "priority": priority}
            for name, kind, path, priority in COLUMNS
        ],
        "schema": {"openAPIV3Schema": deepcopy(schema())},
    }


# --- the schema ---------------------------------------------------------------------------------------


EMBEDDED: Final = {
    "scaling": AUTOSCALER,
    "rolloutStrategy": ROLLOUT,
    "template": POD_TEMPLATE,
    "worker": POD_TEMPLATE,
    "httproute": HTTP_ROUTE,
    "gateway": GATEWAY,
    "ingress": INGRESS,
}
"""The fields of a role that contain specs of other APIs, with the names of their schemas. The rules of these
APIs beyond them are for the API server, when the controller sends a dry run (ADR 22)."""


@cache
def schema() -> Object:
    """Return the schema of the whole object, with upstream's schemas embedded."""
    generated = InferenceService.model_json_schema()
    whole = structural(generated, generated["$defs"])
    role = whole["properties"]["spec"]["properties"]["roles"]["items"]
    fields = role["properties"]
    specs = {field: described(fields[field], schemas()[name]) for field, name in EMBEDDED.items()}
    role["properties"] = fields | specs
    return whole | {"properties": whole["properties"] | METADATA, "required": ["spec"]}


def described(field: Object, of: Schema) -> Object:
    """Return the schema of a field that contains a spec of another API, described as in the models."""
    return {"description": f"{field['description']} As in {of.source}.", **of.root}


def structural(node: Object, definitions: Object) -> Object:
    """Resolve references, and leave out what a structural schema must not have."""
    if "$ref" in node:
        return structural(definitions[node["$ref"].rpartition("/")[2]], definitions)
    kept = {key: item for key, item in node.items() if key not in _LEFT_OUT}
    if "description" in kept:
        kept["description"] = " ".join(kept["description"].split())
    if "const" in kept:
        kept["enum"] = [kept.pop("const")]
    beside = kept.pop("additionalProperties", False)
    if isinstance(beside, dict):
        kept["additionalProperties"] = structural(beside, definitions)
    if "items" in kept:
        kept["items"] = structural(kept["items"], definitions)
    if "properties" in kept:
        fields = kept["properties"].items()
        kept["properties"] = {name: structural(field, definitions) for name, field in fields}
    return kept
