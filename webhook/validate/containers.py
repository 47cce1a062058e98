"""Containers that the API server refuses when LWS creates their pods: without image, volume or claim."""

from collections.abc import Iterator
from typing import Final

from intent.errors import FieldError
from intent.launch import SHOWN
from intent.pod_rules import NEEDS_CLAIM, NEEDS_VOLUME
from webhook.layout import Input

_NO_IMAGE: Final = "is required: the API server refuses a pod with a container that has none"
_INJECTED: Final = "fusioninfer-"
"""Beginning of the names of the volumes that hold models and adapters."""


def containers(inputs: Input) -> Iterator[FieldError]:
    """Report what a container uses and its pod lacks, and missing images, in every template of the author."""
    intent = inputs.intent
    is_injected = bool(intent.model or intent.lora)
    for template in intent.templates:
        where = f"{template.path}.spec"
        for path, name in template.pod.value.unmounted:
            if not (is_injected and name.startswith(_INJECTED)):
                yield FieldError(f"{where}.{path}", name, NEEDS_VOLUME.format(name[:SHOWN]), "FI331")
        for path, name in template.pod.value.unclaimed:
            yield FieldError(f"{where}.{path}", name, NEEDS_CLAIM.format(name[:SHOWN]), "FI338")
        for path in template.pod.value.imageless:
            yield FieldError(f"{where}.{path}.image", None, _NO_IMAGE, "FI332")
