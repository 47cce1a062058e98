"""The table of codes: title and remedy of each finding, and its cause where these do not tell it.

A code never changes its meaning.

The first digit is the subject: 1 annotations and types, 2 gang, 3 launch, 4 the service as a whole,
5 warnings, 7 the InferenceService, 8 routes, 9 the webhook, files, templates
and imports; 6 is for the rules of `webhook.mutate`.
"""

from collections.abc import Mapping
from typing import Final

from catalog.codes import (
    annotations,
    files,
    gang,
    imports,
    inferenceservice,
    launch,
    routes,
    service,
    warnings,
    webhook,
)
from catalog.codes.code import Code, Severity

__all__ = ["CODES", "PARTS", "Code", "Severity"]

PARTS: Final[Mapping[str, Mapping[str, Code]]] = {
    "1": annotations.ROWS,
    "2": gang.ROWS,
    "3": launch.ROWS,
    "4": service.ROWS,
    "5": warnings.ROWS,
    "7": inferenceservice.ROWS,
    "8": routes.ROWS,
    "9": {**webhook.ROWS, **files.ROWS, **imports.ROWS},
}
"""The rows by their first digit, one module each, three for 9."""
CODES: Final[Mapping[str, Code]] = {code: row for rows in PARTS.values() for code, row in rows.items()}
"""All rows, in order."""
