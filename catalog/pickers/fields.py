"""The fields of an EndpointPickerConfig as data, by generation of endpoint pickers.

Endpoint pickers decode strictly: an unknown field, or a value of another type, stops them. Source:
`apix/config/v1alpha1/endpointpickerconfig_types.go` of kubernetes-sigs/gateway-api-inference-extension
v1.4.0 (that of llm-d 0.7) and v1.5.0, and of llm-d/llm-d-router v0.10.0.
"""

from collections.abc import Mapping
from typing import Any, Final

Shape = dict[str, Any]
"""A structural schema (`intent.schema`)."""
Fields = Mapping[str, Shape]

ANYTHING: Final[Shape] = {}
"""Quantities and durations too are not parsed."""
OPEN: Final[Shape] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""A map of which no fields are checked: those of flow control, which is off by default."""
TEXT: Final[Shape] = {"type": "string"}
FLAG: Final[Shape] = {"type": "boolean"}
WHOLE: Final[Shape] = {"type": "integer"}
NUMBER: Final[Shape] = {"type": "number"}


def map_of(**fields: Shape) -> Shape:
    """Return the shape of a map with these fields."""
    return {"type": "object", "properties": fields}


def list_of(item: Shape) -> Shape:
    """Return the shape of a list."""
    return {"type": "array", "items": item}


_REFERENCE: Final = map_of(pluginRef=TEXT)
_THRESHOLDS: Final = map_of(
    queueDepthThreshold=WHOLE, kvCacheUtilThreshold=NUMBER, metricsStalenessThreshold=ANYTHING
)
_SOURCES: Final[Fields] = {"sources": list_of(map_of(pluginRef=TEXT, extractors=list_of(_REFERENCE)))}
_FIELDS: Final[Fields] = {
    "apiVersion": TEXT,
    "kind": TEXT,
    "plugins": list_of(map_of(name=TEXT, type=TEXT, parameters=ANYTHING)),
    "schedulingProfiles": list_of(map_of(name=TEXT, plugins=list_of(map_of(pluginRef=TEXT, weight=NUMBER)))),
    "featureGates": list_of(TEXT),
    "flowControl": OPEN,
}
"""The fields that every generation has."""
FIELDS_0_7: Final[Fields] = {
    **_FIELDS,
    "saturationDetector": _THRESHOLDS,
    "data": map_of(**_SOURCES),
}
FIELDS_1_5: Final[Fields] = {
    **_FIELDS,
    "saturationDetector": _REFERENCE,
    "dataLayer": map_of(**_SOURCES),
    "parser": _REFERENCE,
}
FIELDS_0_10: Final[Fields] = {
    **FIELDS_1_5,
    "dataLayer": map_of(
        **_SOURCES,
        injectDefaults=FLAG,
        discovery=_REFERENCE,
        crossReplicaSyncerPluginRef=TEXT,
        crossReplicaSyncInterval=ANYTHING,
    ),
    "requestHandler": map_of(parsers=list_of(_REFERENCE)),
}
