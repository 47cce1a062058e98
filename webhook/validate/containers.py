"""Containers that the API server refuses when LWS creates their pods: for image, name, volume or claim."""

from collections.abc import Iterator
from typing import Final

from intent.errors import FieldError
from intent.launch import SHOWN
from intent.model import INITIALIZER
from intent.names import WAIT_FOR_LEADER
from intent.pod_rules import NEEDS_CLAIM, NEEDS_VOLUME
from webhook.launchers import LAUNCHERS
from webhook.layout import Input

_NO_IMAGE: Final = "is required: the API server refuses a pod with a container that has none"
_TAKEN: Final = "must be another name: an init container of this name is injected"
_INJECTED: Final = "fusioninfer-"
"""Beginning of the names of the volumes that hold models and adapters."""


def containers(inputs: Input) -> Iterator[FieldError]:
    """Report what a container uses and its pod lacks, missing images, and names that are taken."""
    intent = inputs.intent
    is_injected = bool(intent.model or intent.lora)
    for template in intent.templates:
        where = f"{template.path}.spec"
        for path, name in template.pod.value.unmounted:
            if not (is_injected and name.startswith(_INJECTED)):
                yield FieldError(f"{where}.{path}", name, NEEDS_VOLUME.format(name[:SHOWN]), "FI331")
        for path, name in template.pod.value.unclaimed:
            yield FieldError(f"{where}.{path}", name, NEEDS_CLAIM.format(name[:SHOWN]), "FI338")
        for name in set(template.pod.value.containers).intersection(_init_containers(inputs)):
            at = template.pod.value.containers.index(name)
            yield FieldError(f"{where}.containers[{at}].name", name, _TAKEN, "FI320")
        for path in template.pod.value.imageless:
            yield FieldError(f"{where}.{path}.image", None, _NO_IMAGE, "FI332")


def _init_containers(inputs: Input) -> Iterator[str]:
    """Yield the names of the init containers that are injected; a pod with such a container is invalid."""
    plan, model = inputs.plan, inputs.intent.artifact
    if plan.rewritten and LAUNCHERS[plan.launcher].resolves and "dns" in inputs.concerns:
        yield WAIT_FOR_LEADER
    if model and model.is_downloaded and "model" in inputs.concerns:
        yield INITIALIZER
