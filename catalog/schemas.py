"""Schemas of upstream's fields that an InferenceService embeds, from `schemas.json`.

`make schemas` generates the file from the definitions in upstream's Go modules, whose versions it names
(`tests/catalog/upstream.py`). It is part of the package, and is read once, as a module is.
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
"""The names of the schemas: upstream's Go types."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A structural schema, as in a CustomResourceDefinition."""

    source: str
    """The Go module and its version."""
    root: dict[str, Any]


@cache
def schemas() -> Mapping[str, Schema]:
    """Read the schemas, by their names."""
    found = json.loads(files("catalog").joinpath("schemas.json").read_text(encoding="utf-8"))
    return {name: Schema(one["source"], one["schema"]) for name, one in found.items()}
