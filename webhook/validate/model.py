"""The annotations about the model and LoRA adapters, and what the author has of their own in their place."""

import re
from collections.abc import Iterator
from typing import Final

from intent.annotations import LORA, MODEL, MODEL_CACHE, MODEL_NAME, MODEL_SECRET, path
from intent.errors import FieldError
from intent.launch import SHOWN
from intent.lws import Engine, Intent, Template
from intent.model import DOWNLOADED, INITIALIZER, KEPT_ELSEWHERE, MODELS, NEED_NO_SECRET, Model, Uri
from webhook.layout import Input

FIRST_WITH_IMAGES: Final = (1, 31)
"""KEP-4639: the first release with image volumes; they are on by default from 1.35."""
_VERSION: Final = re.compile(r"v?([0-9]+)\.([0-9]+)")
_VARIABLES: Final = ("HF_HOME", "HF_HUB_CACHE", "HF_TOKEN")


def model(inputs: Input) -> Iterator[FieldError]:
    """Check the model of the annotations against its scheme, the cluster and every template."""
    intent, found = inputs.intent, inputs.intent.artifact
    yield from _without_effect(intent)
    if found and found.uri.scheme == "oci":
        yield from _image_volumes(inputs.settings.kubernetes_version, MODEL)
    if found is None or "model" not in inputs.concerns:
        return
    for template in intent.templates:
        yield from _own_download(template, found)
        if template.engine:
            yield from _own_parts(template, template.engine, found)


def lora(inputs: Input) -> Iterator[FieldError]:
    """Check the adapters against the cluster and every template; the block checks the arguments."""
    intent, adapters = inputs.intent, inputs.intent.adapters.adapters
    if any(one.uri.scheme == "oci" for one in adapters):
        yield from _image_volumes(inputs.settings.kubernetes_version, LORA)
    for template in intent.templates if "lora" in inputs.concerns else ():
        for one in adapters:
            if template.engine and one.mount in template.engine.mounts:
                yield _own_mount(template, one.mount, one.uri)


def _without_effect(intent: Intent) -> Iterator[FieldError]:
    """FI112: further annotations about a model act on it; LoRA adapters may use the Secret."""
    model = intent.artifact
    scheme = model.uri.scheme if model else ""
    why = f"with {scheme}://: remove it" if model else f"without {MODEL}: add it"
    is_claim = model is not None and bool(model.cache.claim)
    has_no_use = scheme in NEED_NO_SECRET or not model
    rows = (
        (MODEL_NAME, intent.model_name, not model),
        (MODEL_SECRET, intent.model_secret, has_no_use and not intent.adapters.use_secret),
        (
            MODEL_CACHE,
            intent.model_cache,
            not model or scheme in KEPT_ELSEWHERE or (is_claim and scheme in DOWNLOADED),
        ),
    )
    for key, value, is_vain in rows:
        if value and is_vain:
            yield FieldError(path(key), value, f"has no effect {why}", "FI112")


def _image_volumes(version: str, key: str) -> Iterator[FieldError]:
    """Report a cluster that mounts no images; `key` is the annotation that has one."""
    found = _VERSION.match(version)
    if found and (int(found[1]), int(found[2])) < FIRST_WITH_IMAGES:
        message = f"must not be oci://: Kubernetes {version[:SHOWN]} mounts no images; use pvc:// or s3://"
        yield FieldError(path(key), None, message, "FI323")


def _own_download(template: Template, model: Model) -> Iterator[FieldError]:
    """FI321: an author's own init container for the model downloads that model."""
    wanted = (model.uri.text, MODELS)
    own = template.downloads if model.is_downloaded else None
    if own is not None and own[: len(wanted)] != wanted:
        message = f"{INITIALIZER} must have the args [{', '.join(wanted)}], as {MODEL} says"
        yield FieldError(f"{template.path}.spec.initContainers", None, message, "FI321")


def _own_parts(template: Template, engine: Engine, model: Model) -> Iterator[FieldError]:
    """Report a mount and variables of the author, which are used in place of those of the model."""
    if model.mounted_by_author(engine.mounts, engine.model_mounts):
        yield _own_mount(template, model.mount, model.uri)
    wanted = _VARIABLES if model.secret else _VARIABLES[:2]
    if own := [name for name in wanted if model.is_cached and name in engine.env]:
        message = f"{', '.join(own)} is your own, which is used: {MODEL} may have no effect on it"
        yield FieldError(f"{template.engine_path}.env", None, message, "FI544")


def _own_mount(template: Template, mount: str, uri: Uri) -> FieldError:
    message = f"{mount} is a mount of your own, which is used: {uri.text[:SHOWN]} is not mounted"
    return FieldError(f"{template.engine_path}.volumeMounts", None, message, "FI544")
