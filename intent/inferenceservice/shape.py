"""What the definition's schema refuses of an InferenceService, as the API server does, and unknown fields."""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Final

from intent import Object
from intent.errors import FieldError, each_nearest, suggested
from intent.inferenceservice.crd import of_models
from intent.inferenceservice.embedded import EMBEDDED
from intent.inferenceservice.v1alpha1 import API_VERSION
from intent.schema import PRESERVED, Violation, violations
from intent.shapes import listed, mapping

MOST: Final = 100
"""The most findings reported; an object may have one for each of its fields."""
_OPAQUE: Final = {"type": "object", PRESERVED: True}
_Coded = tuple[str, str, Violation]
"""The code of a violation, and what defines its field."""


def of_fields(service: Object) -> Iterator[FieldError]:
    """Report the violations by our own fields; the status is left out."""
    return _reported(("FI701", API_VERSION, one) for one in violations(service, _ours(), ""))


def of_specs(service: Object) -> Iterator[FieldError]:
    """Report the violations by the specs of other APIs in all roles."""
    return _reported(_in_specs(service))


def _reported(found: Iterable[_Coded]) -> Iterator[FieldError]:
    """Report violations, at most `MOST`, with what is meant by unknown fields (FI702)."""
    rows = list(islice(found, MOST))
    meant = each_nearest((one.unknown, one.known) for _, _, one in rows if one.unknown)
    for code, source, one in rows:
        path = one.path.removeprefix(".")
        if one.unknown:
            hint = suggested(next(meant), f"{source} has none of this name")
            yield FieldError(path, None, one.message + hint, "FI702")
        else:
            yield FieldError(path, one.value, one.message, code)


def _in_specs(service: Object) -> Iterator[_Coded]:
    """Yield the violations by specs; one that is no object is a violation by our own field."""
    for at, role in enumerate(listed(mapping(service.get("spec")).get("roles"))):
        for name, row in EMBEDDED.items():
            value = mapping(role).get(name)
            if isinstance(value, dict):
                for one in violations(value, row.schema.root, f"spec.roles[{at}].{name}"):
                    yield row.code, row.schema.source, one


@cache
def _ours() -> Object:
    """Return the schema of our own fields, without those of metadata and of other APIs."""
    whole = of_models()
    whole["properties"]["metadata"] = _OPAQUE
    role = whole["properties"]["spec"]["properties"]["roles"]["items"]
    role["properties"] |= dict.fromkeys(EMBEDDED, _OPAQUE)
    return whole
