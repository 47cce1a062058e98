"""What the definition's schema refuses of an InferenceService, as the API server does, and unknown fields."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final

from catalog.schemas import schemas
from intent import Object
from intent.errors import FieldError, each_nearest, suggested
from intent.inferenceservice.crd import EMBEDDED, of_models, schema
from intent.inferenceservice.v1alpha1 import API_VERSION
from intent.schema import PRESERVED, violations

MOST: Final = 100
"""The most findings reported; an object may have one for each of its fields."""
_IN_SPEC: Final = re.compile(r"\.spec\.roles\[[0-9]+\]\.([A-Za-z]+)\.")
"""The path of a field in a field of a role, which may have the spec of another API."""


def violated(service: Object) -> Iterator[FieldError]:
    """Report the violations by an object without status, at most `MOST` (FI701, FI702)."""
    found = list(islice(violations(service, _schema(), ""), MOST))
    meant = each_nearest((one.unknown, one.known) for one in found if one.unknown)
    for one in found:
        path = one.path.removeprefix(".")
        if one.unknown:
            hint = suggested(next(meant), f"{_source(one.path)} has none of this name")
            yield FieldError(path, None, one.message + hint, "FI702")
        else:
            yield FieldError(path, one.value, one.message, "FI701")


def _source(path: str) -> str:
    """Return what defines the fields at a path."""
    field = _IN_SPEC.match(path)
    return schemas()[EMBEDDED[field[1]]].source if field and field[1] in EMBEDDED else API_VERSION


@cache
def _schema() -> Object:
    """Return the schema of the whole object, that of its metadata left out."""
    whole = of_models()
    replaced = {"spec": schema()["properties"]["spec"], "metadata": {"type": "object", PRESERVED: True}}
    return whole | {"properties": whole["properties"] | replaced}
