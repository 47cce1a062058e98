"""The JSON schema of the chart's values. Helm refuses values that do not match it, and names their path.

Fields of pods have the schemas of Kubernetes that `catalog/schemas.json` holds, so a misspelt field is an
error when the chart is rendered, and not only at the API server.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from fusioninfer.settings import SettingsFile
from hack.manifests.objects import MANIFESTS
from hack.manifests.values import VALUES
from hack.manifests.workloads import PROBES
from intent import Object

TITLES: Final = frozenset({"title", "description", "default"})
"""Keys of a schema that do not restrict values."""
SETTINGS: Final = "settings"
_POD: Final = ("PodTemplateSpec", "schema", "properties", "spec", "properties")
_CONTAINER: Final = (*_POD, "containers", "items", "properties")
PLACES: Final = {
    **{
        name: (*_POD, name)
        for name in (
            *("affinity", "imagePullSecrets", "nodeSelector"),
            *("tolerations", "topologySpreadConstraints", "volumes"),
        )
    },
    "podSecurityContext": (*_POD, "securityContext"),
    **{
        name: (*_CONTAINER, name) for name in ("env", "resources", "securityContext", "volumeMounts", *PROBES)
    },
}
"""Where the schema of each definition stands in the catalogue."""


def schema() -> Object:
    """Return the JSON schema of the values."""
    whole = _closed()
    for value in VALUES:
        *parents, name = value.path.split(".")
        place = whole
        for parent in parents:
            place = place["properties"].setdefault(parent, _closed())
        place["properties"][name] = value.schema
    # Helm sets `global` if the chart is a subchart.
    whole["properties"]["global"] = {"type": "object"}
    definitions = {SETTINGS: _of_settings(), **dict(_of_kubernetes())}
    return {"$schema": "https://json-schema.org/draft-07/schema#", **whole, "definitions": definitions}


def _closed() -> Object:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def _of_settings() -> Object:
    """Return the schema of the settings file, without titles."""
    made = SettingsFile.model_json_schema()
    fields = {
        name: {key: value for key, value in field.items() if key not in TITLES}
        for name, field in made["properties"].items()
    }
    return {"type": "object", "additionalProperties": False, "properties": fields}


def _of_kubernetes() -> Iterator[tuple[str, Object]]:
    """Yield the schemas of fields of pods."""
    known = json.loads((MANIFESTS.parent / "catalog" / "schemas.json").read_text(encoding="utf-8"))
    for name, path in PLACES.items():
        found = known
        for step in path:
            found = found[step]
        yield name, _strict(found)


def _strict(structural: Any) -> Any:
    """Return a JSON schema of a structural schema: other fields than those that it has are errors."""
    if not isinstance(structural, dict):
        return structural
    made = {
        key: value
        for key, value in structural.items()
        if not key.startswith("x-kubernetes-") and key not in {"format", "properties", "items"}
    }
    if structural.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    if "properties" in structural:
        made["properties"] = {name: _strict(each) for name, each in structural["properties"].items()}
        made["additionalProperties"] = False
    elif "additionalProperties" in structural:
        made["additionalProperties"] = _strict(structural["additionalProperties"])
    if "items" in structural:
        made["items"] = _strict(structural["items"])
    return made
