"""Containers: what the API server refuses in their pods, and an author's own in place of a model's parts."""

import re
from collections.abc import Iterator
from typing import Final

from intent.annotations import LORA, MODEL, MODEL_CACHE, MODEL_NAME, MODEL_SECRET, path
from intent.errors import FieldError
from intent.launch import SHOWN
from intent.lws import Intent, Template
from intent.model import DOWNLOADED, INITIALIZER, KEPT_ELSEWHERE, MODELS, NEED_NO_SECRET, Model, Uri
from intent.names import WAIT_FOR_LEADER
from webhook.launchers import LAUNCHERS
from webhook.layout import Input

_LACKING: Final = {
    "FI331": "must be the name of a volume: add {} to spec.volumes of this template",
    "FI338": "must be the name of a claim: add {} to spec.resourceClaims of this template",
    "FI332": "is required: the API server refuses a pod with a container that has none",
}
_TAKEN: Final = "must be another name: an init container of this name is injected"
_INJECTED: Final = "fusioninfer-"
"""Beginning of the names of the volumes that hold models and adapters."""
_WITH_IMAGES: Final = (1, 31)
"""The first release of Kubernetes with image volumes (KEP-4639); they are on by default from 1.35."""
_VERSION: Final = re.compile(r"v?([0-9]+)\.([0-9]+)")
_VARIABLES: Final = ("HF_HOME", "HF_HUB_CACHE", "HF_TOKEN")


def containers(inputs: Input) -> Iterator[FieldError]:
    """Report what a container uses and its pod lacks, missing images, and names that are taken."""
    intent, plan, injected = inputs.intent, inputs.plan, set[str]()
    has_volumes = bool(intent.model or intent.lora)
    if plan.rewritten and LAUNCHERS[plan.launcher].resolves and "dns" in inputs.concerns:
        injected.add(WAIT_FOR_LEADER)
    if intent.model and intent.artifact and intent.artifact.is_downloaded and "model" in inputs.concerns:
        injected.add(INITIALIZER)
    for template in intent.templates:
        where, pod = f"{template.path}.spec", template.pod.value
        for below, name, code in pod.lacking:
            if not (has_volumes and name.startswith(_INJECTED)):
                yield FieldError(f"{where}.{below}", name or None, _LACKING[code].format(name[:SHOWN]), code)
        for at, name in enumerate(pod.containers):
            if name in injected:
                yield FieldError(f"{where}.containers[{at}].name", name, _TAKEN, "FI320")


def model(inputs: Input) -> Iterator[FieldError]:
    """Check the annotations about model and adapters against cluster and templates, not against arguments."""
    intent = inputs.intent
    if intent.model or intent.model_name or intent.model_secret or intent.model_cache:
        yield from _without_effect(intent)
    if not (intent.model or intent.lora):
        return
    artifact, adapters = intent.artifact, intent.adapters.adapters
    of_model = [artifact.uri] if artifact else []
    for key, uris in ((MODEL, of_model), (LORA, [one.uri for one in adapters])):
        if any(uri.scheme == "oci" for uri in uris):
            yield from _image_volumes(inputs.settings.kubernetes_version, key)
    for template in intent.templates:
        if artifact and "model" in inputs.concerns:
            yield from _own_parts(template, artifact)
        for one in adapters if "lora" in inputs.concerns else ():
            if template.engine and one.mount in template.engine.mounts:
                yield _own_mount(template, one.mount, one.uri)


def _without_effect(intent: Intent) -> Iterator[FieldError]:
    """FI112: further annotations about a model act on it; LoRA adapters may use the Secret."""
    model = intent.artifact
    scheme = model.uri.scheme if model else ""
    why = f"with {scheme}://: remove it" if model else f"without {MODEL}: add it"
    has_no_use = scheme in NEED_NO_SECRET or not model
    is_kept = model is not None and bool(model.cache.claim) and scheme in DOWNLOADED
    rows = (
        (MODEL_NAME, intent.model_name, not model),
        (MODEL_SECRET, intent.model_secret, has_no_use and not intent.adapters.use_secret),
        (MODEL_CACHE, intent.model_cache, not model or scheme in KEPT_ELSEWHERE or is_kept),
    )
    for key, value, is_vain in rows:
        if value and is_vain:
            yield FieldError(path(key), value, f"has no effect {why}", "FI112")


def _image_volumes(version: str, key: str) -> Iterator[FieldError]:
    """Report a cluster that mounts no images; `key` is the annotation that has one."""
    found = _VERSION.match(version)
    if found and (int(found[1]), int(found[2])) < _WITH_IMAGES:
        message = f"must not be oci://: Kubernetes {version[:SHOWN]} mounts no images; use pvc:// or s3://"
        yield FieldError(path(key), None, message, "FI323")


def _own_parts(template: Template, model: Model) -> Iterator[FieldError]:
    """Report an author's own download of another model, and their mount and variables, which are used."""
    wanted, own = (model.uri.text, MODELS), template.downloads if model.is_downloaded else None
    if own is not None and own[: len(wanted)] != wanted:
        message = f"{INITIALIZER} must have the args [{', '.join(wanted)}], as {MODEL} says"
        yield FieldError(f"{template.path}.spec.initContainers", None, message, "FI321")
    engine = template.engine
    if engine is None:
        return
    if model.mounted_by_author(engine.mounts, engine.model_mounts):
        yield _own_mount(template, model.mount, model.uri)
    variables = _VARIABLES if model.secret else _VARIABLES[:2]
    if named := [name for name in variables if model.is_cached and name in engine.env]:
        message = f"{', '.join(named)} is your own, which is used: {MODEL} may have no effect on it"
        yield FieldError(f"{template.engine_path}.env", None, message, "FI544")


def _own_mount(template: Template, mount: str, uri: Uri) -> FieldError:
    message = f"{mount} is a mount of your own, which is used: {uri.text[:SHOWN]} is not mounted"
    return FieldError(f"{template.engine_path}.volumeMounts", None, message, "FI544")
