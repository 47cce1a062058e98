"""The fields of an EndpointPickerConfig as data, by generation of endpoint pickers.

Endpoint pickers decode strictly: an unknown field, or a value of another type, stops them. Source:
`apix/config/v1alpha1/endpointpickerconfig_types.go` of kubernetes-sigs/gateway-api-inference-extension
v1.4.0 (that of llm-d 0.7) and v1.5.0, and of llm-d/llm-d-router v0.10.0.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Shape: TypeAlias = "str | list[Shape] | dict[str, Shape]"
"""A key of `KINDS`, or the shape of the items of a list, or the shapes of the fields of a map."""
Fields = Mapping[str, Shape]

KINDS: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "anything": ("anything", lambda _: True),
    "text": ("text", lambda value: isinstance(value, str)),
    "flag": ("true or false", lambda value: isinstance(value, bool)),
    "whole": ("a whole number", lambda value: type(value) is int),
    "number": ("a number", lambda value: type(value) in {int, float}),
}
"""Each type with its name for messages and its test. Quantities and durations are not parsed."""

_GATE: Final[Shape] = "text"
_PLUGIN: Final[Shape] = {"name": "text", "type": "text", "parameters": "anything"}
_THRESHOLDS: Final[Shape] = {
    "queueDepthThreshold": "whole",
    "kvCacheUtilThreshold": "number",
    "metricsStalenessThreshold": "anything",
}
_REFERENCE: Final[Shape] = {"pluginRef": "text"}
_SOURCES: Final[dict[str, Shape]] = {"sources": [{"pluginRef": "text", "extractors": [_REFERENCE]}]}
_BAND: Final[dict[str, Shape]] = {
    "priority": "whole",
    "maxBytes": "anything",
    "fairnessPolicyRef": "text",
    "orderingPolicyRef": "text",
}
_FLOW: Final[dict[str, Shape]] = {
    "maxBytes": "anything",
    "defaultRequestTTL": "anything",
    "defaultPriorityBand": _BAND,
    "priorityBands": [_BAND],
}
_BAND_1_5: Final[dict[str, Shape]] = {**_BAND, "maxRequests": "anything"}


_FIELDS: Final[Fields] = {
    "apiVersion": "text",
    "kind": "text",
    "plugins": [_PLUGIN],
    "schedulingProfiles": [{"name": "text", "plugins": [{"pluginRef": "text", "weight": "number"}]}],
    "featureGates": [_GATE],
}
"""The fields that every generation has."""
FIELDS_0_7: Final[Fields] = {
    **_FIELDS,
    "saturationDetector": _THRESHOLDS,
    "data": _SOURCES,
    "flowControl": _FLOW,
}
_FLOW_1_5: Final[dict[str, Shape]] = {
    **_FLOW,
    "maxRequests": "anything",
    "defaultPriorityBand": _BAND_1_5,
    "priorityBands": [_BAND_1_5],
    "usageLimitPolicyPluginRef": "text",
}
FIELDS_1_5: Final[Fields] = {
    **_FIELDS,
    "saturationDetector": _REFERENCE,
    "dataLayer": _SOURCES,
    "parser": _REFERENCE,
    "flowControl": _FLOW_1_5,
}
FIELDS_0_10: Final[Fields] = {
    **FIELDS_1_5,
    "dataLayer": {
        **_SOURCES,
        "injectDefaults": "flag",
        "discovery": _REFERENCE,
        "crossReplicaSyncerPluginRef": "text",
        "crossReplicaSyncInterval": "anything",
    },
    "flowControl": {
        **_FLOW_1_5,
        "defaultNegativePriorityBand": _BAND_1_5,
        "saturationDetector": _REFERENCE,
        "enableEviction": "flag",
    },
    "requestHandler": {"parsers": [_REFERENCE]},
}
