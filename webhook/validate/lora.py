"""The annotation about LoRA adapters, and what the author's template has of its own in their place."""

from collections.abc import Iterator

from intent.annotations import LORA
from intent.errors import FieldError
from intent.launch import SHOWN
from webhook.layout import Input
from webhook.validate.model import image_volumes


def lora(given: Input) -> Iterator[FieldError]:
    """Check the adapters against the cluster and every template; the block checks the arguments."""
    intent, adapters = given.intent, given.intent.adapters.adapters
    if any(one.uri.scheme == "oci" for one in adapters):
        yield from image_volumes(given.settings.kubernetes_version, LORA)
    for template in intent.templates if "lora" in given.concerns else ():
        for one in adapters:
            if template.engine and one.mount in template.engine.mounts:
                message = f"{one.mount} is a mount of your own, which is used for the adapter {one.name}"
                effect = f"{message}: {one.uri.text[:SHOWN]} is not mounted"
                yield FieldError(f"{template.engine_path}.volumeMounts", None, effect, "FI560")
