"""The annotations about the model and LoRA adapters, and what the author has of their own in their place."""

import re
from collections.abc import Iterator
from typing import Final

from intent.annotations import LORA, MODEL, MODEL_CACHE, MODEL_NAME, MODEL_SECRET, path
from intent.errors import FieldError
from intent.launch import SHOWN
from intent.lws import Engine, Intent, Template
from intent.model import CACHE, DOWNLOADED, INITIALIZER, KEPT_ELSEWHERE, MODELS, NEED_NO_SECRET, Model
from webhook.layout import Input

FIRST_WITH_IMAGES: Final = (1, 31)
IMAGES_BY_DEFAULT: Final = (1, 35)
"""KEP-4639: the first releases with image volumes, and with the feature gate on by default."""
_VERSION: Final = re.compile(r"v?([0-9]+)\.([0-9]+)")
_VARIABLES: Final = ("HF_HOME", "HF_HUB_CACHE", "HF_TOKEN")


def model(inputs: Input) -> Iterator[FieldError]:
    """Check the model of the annotations against its scheme, the cluster and every template."""
    intent, found = inputs.intent, inputs.intent.artifact
    if found is None:
        yield from _without_model(intent)
        return
    yield from _without_effect(found, for_adapters=intent.adapters.use_secret)
    if found.uri.scheme == "oci":
        yield from image_volumes(inputs.settings.kubernetes_version, MODEL)
    if "model" not in inputs.concerns:
        return
    for template in intent.templates:
        yield from _own_download(template, found)
        if template.engine:
            yield from _own_parts(template, template.engine, found)


def lora(inputs: Input) -> Iterator[FieldError]:
    """Check the adapters against the cluster and every template; the block checks the arguments."""
    intent, adapters = inputs.intent, inputs.intent.adapters.adapters
    if any(one.uri.scheme == "oci" for one in adapters):
        yield from image_volumes(inputs.settings.kubernetes_version, LORA)
    for template in intent.templates if "lora" in inputs.concerns else ():
        for one in adapters:
            if template.engine and one.mount in template.engine.mounts:
                message = f"{one.mount} is a mount of your own, which is used for the adapter {one.name}"
                effect = f"{message}: {one.uri.text[:SHOWN]} is not mounted"
                yield FieldError(f"{template.engine_path}.volumeMounts", None, effect, "FI560")


def _without_model(intent: Intent) -> Iterator[FieldError]:
    values = {
        MODEL_NAME: intent.model_name,
        MODEL_SECRET: "" if intent.adapters.use_secret else intent.model_secret,
        MODEL_CACHE: intent.model_cache,
    }
    for key, value in values.items():
        if value:
            yield FieldError(path(key), value, f"has no effect without {MODEL}: add it", "FI112")


def _without_effect(model: Model, *, for_adapters: bool) -> Iterator[FieldError]:
    """Report a Secret or a cache that the scheme does not use; LoRA adapters may use the Secret."""
    scheme, cache = model.uri.scheme, model.cache
    if model.secret and scheme in NEED_NO_SECRET and not for_adapters:
        instead = "; name the pull Secret in imagePullSecrets of the templates" if scheme == "oci" else ""
        message = f"must be absent: {scheme}:// downloads nothing{instead}"
        yield FieldError(path(MODEL_SECRET), model.secret, message, "FI112")
    if model.is_kept and scheme in KEPT_ELSEWHERE:
        where = "image" if scheme == "oci" else "claim"
        message = f"must be absent: the files are in the {where} of {scheme}://"
        yield FieldError(path(MODEL_CACHE), None, message, "FI112")
    elif cache.claim and scheme in DOWNLOADED:
        message = f"must be a size: each pod downloads {scheme}:// for itself; to share files, use pvc://"
        yield FieldError(path(MODEL_CACHE), None, message, "FI112")


def image_volumes(version: str, key: str) -> Iterator[FieldError]:
    """Report a cluster that mounts no images, or perhaps none; `key` is the annotation that has one."""
    found = _VERSION.match(version)
    known = (int(found[1]), int(found[2])) if found else None
    if known and known < FIRST_WITH_IMAGES:
        message = f"must not be oci://: Kubernetes {version[:SHOWN]} mounts no images; use pvc:// or s3://"
        yield FieldError(path(key), None, message, "FI323")
    elif known is None or known < IMAGES_BY_DEFAULT:
        cluster = f"Kubernetes {version[:SHOWN]}" if known else "a cluster before Kubernetes 1.35"
        message = f"{cluster} mounts images only with the feature gate ImageVolume: turn it on, or use pvc://"
        yield FieldError(path(key), None, message, "FI545")


def _own_download(template: Template, model: Model) -> Iterator[FieldError]:
    """Report containers with the name of the init container: another one, or one that does something else."""
    if not model.is_downloaded:
        return
    where, wanted = f"{template.path}.spec", (model.uri.text, MODELS)
    if INITIALIZER in template.pod.value.containers:
        at = template.pod.value.containers.index(INITIALIZER)
        message = "must be another name: the init container that downloads the model has this one"
        yield FieldError(f"{where}.containers[{at}].name", INITIALIZER, message, "FI322")
    if template.downloads is not None and template.downloads[: len(wanted)] != wanted:
        message = f"{INITIALIZER} must have the args [{', '.join(wanted)}], as {MODEL} says"
        yield FieldError(f"{where}.initContainers", None, message, "FI321")


def _own_parts(template: Template, engine: Engine, model: Model) -> Iterator[FieldError]:
    """Report a mount and variables of the author, which are used in place of those of the model."""
    if model.mounted_by_author(engine.mounts, engine.model_mounts):
        message = (
            f"{model.mount} is a mount of your own, which is used: {model.uri.text[:SHOWN]} is not mounted"
        )
        yield FieldError(f"{template.engine_path}.volumeMounts", None, message, "FI544")
    wanted = _VARIABLES if model.secret else _VARIABLES[:2]
    for name in wanted if model.is_cached else ():
        if name in engine.env:
            effect = "the Secret of model-secret" if name == "HF_TOKEN" else f"the volume at {CACHE}"
            message = f"{name} is your own, which is used: {effect} may have no effect"
            yield FieldError(f"{template.engine_path}.env", None, message, "FI544")
