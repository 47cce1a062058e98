"""The fields of a role that contain specs of other APIs: their schemas, and the findings about them.

The CRD embeds the schemas, so the API server refuses the same values, and drops the same unknown fields.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

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
from intent.errors import FieldError, each_nearest, suggested
from intent.schema import Violation, violations
from intent.shapes import listed, mapping

UNKNOWN: Final = "FI702"
MOST: Final = 100
"""The most findings reported; an object may have one for each of its fields."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A field of a role that contains a spec of another API."""

    name: str
    """The name of its schema."""
    code: str
    """The code of a violation; an unknown field is FI702."""

    @property
    def schema(self) -> Schema:
        """The schema of upstream."""
        return schemas()[self.name]


EMBEDDED: Final = {
    "scaling": Embedded(AUTOSCALER, "FI716"),
    "rolloutStrategy": Embedded(ROLLOUT, "FI717"),
    "template": Embedded(POD_TEMPLATE, "FI701"),
    "worker": Embedded(POD_TEMPLATE, "FI701"),
    "httproute": Embedded(HTTP_ROUTE, "FI710"),
    "gateway": Embedded(GATEWAY, "FI710"),
    "ingress": Embedded(INGRESS, "FI711"),
}
"""The fields, by their names. The rules of their APIs beyond the schemas are for the API server, when the
controller sends a dry run (ADR 22)."""


def findings(service: Object | None) -> Iterator[FieldError]:
    """Report the violations by all roles of an InferenceService, at most `MOST`."""
    found = list(islice(_violations(service), MOST))
    meant = each_nearest((one.unknown, one.known) for _, one in found if one.unknown)
    for row, one in found:
        if one.unknown:
            hint = suggested(next(meant), f"{row.schema.source} has none of this name")
            yield FieldError(one.path, None, one.message + hint, UNKNOWN)
        else:
            yield FieldError(one.path, one.value, one.message, row.code)


def _violations(service: Any) -> Iterator[tuple[Embedded, Violation]]:
    """Yield the violations with their fields. A field that is no object is reported by `read`."""
    for at, role in enumerate(listed(mapping(mapping(service).get("spec")).get("roles"))):
        for name, row in EMBEDDED.items():
            value = mapping(role).get(name)
            if isinstance(value, dict):
                path = f"spec.roles[{at}].{name}"
                for one in violations(value, row.schema.root, path):
                    yield row, one
