"""What the definition's schema refuses of an InferenceService, as the API server does, and unknown fields."""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final

from intent import Object
from intent.errors import FieldError, each_nearest, suggested
from intent.inferenceservice.crd import of_models, schema
from intent.schema import PRESERVED, violations

MOST: Final = 100
"""The most findings reported; an object may have one for each of its fields."""


def violated(service: Object) -> Iterator[FieldError]:
    """Report the violations by an object without status, at most `MOST` (FI701, FI702)."""
    found = list(islice(violations(service, _schema(), ""), MOST))
    meant = each_nearest((one.unknown, one.known) for one in found if one.unknown)
    for one in found:
        path = one.path.removeprefix(".")
        if one.unknown:
            hint = suggested(next(meant), "there is none of this name")
            yield FieldError(path, None, one.message + hint, "FI702")
        else:
            yield FieldError(path, one.value, one.message, "FI701")


@cache
def _schema() -> Object:
    """Return the schema of the whole object, that of its metadata left out."""
    whole = of_models()
    replaced = {"spec": schema()["properties"]["spec"], "metadata": {"type": "object", PRESERVED: True}}
    return whole | {"properties": whole["properties"] | replaced}
