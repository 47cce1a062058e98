"""The fields of a role that contain specs of other APIs, with their schemas.

The CRD embeds the schemas, so the API server refuses the same values, and drops the same unknown fields.
"""

from dataclasses import dataclass
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
