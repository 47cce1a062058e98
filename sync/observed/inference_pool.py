"""An InferencePool: what the gateways that use it answer."""

from dataclasses import dataclass

from intent import Object
from intent.shapes import mapping, text
from sync.observed.condition import generation
from sync.observed.parents import ParentStatus, answers


@dataclass(frozen=True, slots=True)
class InferencePool:
    """What one InferencePool is answered; nothing until a route refers to it."""

    name: str
    answers: tuple[ParentStatus, ...] = ()


def project(obj: Object) -> InferencePool:
    """Project an InferencePool."""
    metadata, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    found = answers(status.get("parents"), text(metadata.get("namespace")), generation(obj))
    return InferencePool(text(metadata.get("name")), found)
