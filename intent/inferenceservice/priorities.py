"""Rules of the priorities of an InferenceService: of its requests, and of those for its LoRA adapters."""

from collections.abc import Iterator
from typing import Any, Final

from intent.errors import FieldError
from intent.inferenceservice.v1alpha1 import InferenceService
from intent.priority import ACCEPTED, as_text

NEEDS_ROUTER: Final = "has no effect without a router: add one, or remove the priority"


def priorities(service: InferenceService) -> Iterator[FieldError]:
    """FI701, FI803: priorities are valid, and there is a router for them."""
    is_routed = any(role.component_type == "router" for role in service.spec.roles)
    for path, value in _priorities(service):
        if not as_text(value):
            shown = None if isinstance(value, dict | list) else value
            yield FieldError(path, shown, ACCEPTED, "FI701")
        elif not is_routed:
            yield FieldError(path, None, NEEDS_ROUTER, "FI803")


def _priorities(service: InferenceService) -> Iterator[tuple[str, Any]]:
    """Yield the priorities that the author set, with their paths."""
    spec = service.spec
    if "priority" in spec.model_fields_set:
        yield "spec.priority", spec.priority
    for at, one in enumerate(spec.lora.adapters):
        if "priority" in one.model_fields_set:
            yield f"spec.lora.adapters[{at}].priority", one.priority
