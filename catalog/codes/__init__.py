"""The table of codes: what each finding means, what to do, what causes it. A code never changes its meaning.

The first digit says what it is about: 1 annotations and shape, 2 gang, 3 launch, 4 the service as a whole,
5 warnings, 7 the InferenceService, 8 routes, 9 the webhook itself; 6 are the rules of `webhook.mutate.rules`.
"""

from collections.abc import Mapping
from typing import Final

from catalog.codes import annotations, gang, inferenceservice, launch, routes, service, warnings, webhook
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
    "9": webhook.ROWS,
}
"""The rows by their first digit; each part is a file of its own."""
CODES: Final[Mapping[str, Code]] = {code: row for rows in PARTS.values() for code, row in rows.items()}
"""All of them, in their order."""
