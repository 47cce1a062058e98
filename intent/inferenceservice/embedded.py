"""The fields of a role that contain specs of other APIs: their schemas, and the findings about them.

The CRD embeds the schemas, so the API server refuses the same values, and drops the same unknown fields.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from catalog.pickers.generations import POOLS
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
from intent.rollout import OF_ROLLOUT
from intent.schema import Rules, Violation, violations
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
    rules: Rules = field(default_factory=dict)
    """Rules beyond the schema."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Names that are no fields here, though authors expect them, each with its remedy."""

    @property
    def schema(self) -> Schema:
        """The schema of upstream."""
        return schemas()[self.name]


def _group_of_a_pool(backend: Object) -> str:
    """Require the group of an InferencePool, without which gateways report an unknown kind."""
    is_pool = backend.get("kind") == "InferencePool" and not backend.get("group")
    return f"group must be {POOLS}: it refers to an InferencePool" if is_pool else ""


_BACKENDS: Final = (
    ".rules[].backendRefs[]",
    *(
        f"{rule}.filters[].{name}.backendRef"
        for rule in (".rules[]", ".rules[].backendRefs[]")
        for name in ("requestMirror", "externalAuth")
    ),
)
_BELOW: Final = dict.fromkeys(
    ("maxSurge", "maxUnavailable", "partition"), "write it in rollingUpdateConfiguration"
)
EMBEDDED: Final = {
    "scaling": Embedded(
        AUTOSCALER, "FI716", left_out={"scaleTargetRef": "remove it: the role is the target"}
    ),
    "rolloutStrategy": Embedded(ROLLOUT, "FI717", OF_ROLLOUT, _BELOW),
    "template": Embedded(POD_TEMPLATE, "FI701"),
    "worker": Embedded(POD_TEMPLATE, "FI701"),
    "httproute": Embedded(HTTP_ROUTE, "FI710", dict.fromkeys(_BACKENDS, (_group_of_a_pool,))),
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
            yield FieldError(one.path, None, one.message + _remedy(row, one, next(meant)), UNKNOWN)
        else:
            yield FieldError(one.path, one.value, one.message, row.code)


def _remedy(row: Embedded, one: Violation, meant: str) -> str:
    """Return what to write in place of an unknown field; `meant` is the most similar known one."""
    if one.unknown in row.left_out:
        return f"; {row.left_out[one.unknown]}"
    return suggested(meant, f"{row.schema.source} has none of this name")


def _violations(service: Any) -> Iterator[tuple[Embedded, Violation]]:
    """Yield the violations with their fields. A field that is no object is reported by `read`."""
    for at, role in enumerate(listed(mapping(mapping(service).get("spec")).get("roles"))):
        for name, row in EMBEDDED.items():
            value = mapping(role).get(name)
            if isinstance(value, dict):
                path = f"spec.roles[{at}].{name}"
                for one in violations(value, row.schema.root, path, row.rules):
                    yield row, one
