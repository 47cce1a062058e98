"""The volume of the model, or of its cache, in every engine; and the init container that downloads files.

The Secret is named, and never read.
"""

from typing import Final

from intent import Object
from intent.annotations import MODEL as ANNOTATION
from intent.annotations import MODEL_SECRET
from intent.lws import Engine
from intent.model import CACHE, INITIALIZER, MODELS, VOLUME, Model
from intent.settings import Settings
from intent.tree import Overlay
from webhook.layout import Input
from webhook.mutate.concern import Concern, Rule, of_containers, union, values
from webhook.mutate.download import WRITES, Download, init_container, token
from webhook.mutate.templates import for_engines, in_engine


def model(inputs: Input) -> Overlay:
    """Mount the model or its cache in every engine, and download it first where no engine could."""
    asked = inputs.intent.artifact
    if asked is None:
        return {}
    return for_engines(inputs.layout, lambda _, engine: _template(asked, engine, inputs.settings))


def _template(model: Model, engine: Engine, settings: Settings) -> Overlay:
    """Return the overlay of one pod. An author's own mount at the path holds the model, or the cache."""
    variables = _cache(model) if model.is_cached else []
    container: Overlay = {"env": variables} if variables else {}
    if model.mounted_by_author(engine.mounts, engine.model_mounts):
        return in_engine(engine, container)
    container["volumeMounts"] = [_mount(model)]
    pod: Overlay = {"volumes": [{"name": VOLUME, **_source(model)}]}
    if model.is_downloaded:
        download = Download(INITIALIZER, model.uri, {"name": VOLUME, "mountPath": MODELS}, model.secret)
        pod["initContainers"] = [init_container(download, engine, settings)]
        pod["volumes"] += download.secret_volumes
    return in_engine(engine, container, pod)


def _source(model: Model) -> Object:
    uri, cache = model.uri, model.cache
    if uri.scheme == "oci":
        return {"image": {"reference": uri.image, "pullPolicy": "IfNotPresent"}}
    if uri.scheme == "pvc":
        return {"persistentVolumeClaim": {"claimName": uri.claim, "readOnly": True}}
    if claim := uri.claim or cache.claim:
        return {"persistentVolumeClaim": {"claimName": claim}}
    return {"emptyDir": {"sizeLimit": cache.size} if cache.size else {}}


def _mount(model: Model) -> Object:
    """Return the engine's mount. Only a cache is written to; `models` of an image is in the engine's path."""
    path = model.uri.path if model.uri.scheme == "pvc" else model.cache.path
    mount: Object = {"name": VOLUME, "mountPath": model.mount}
    if path:
        mount["subPath"] = path
    return mount if model.is_cached else mount | {"readOnly": True}


def _cache(model: Model) -> list[Object]:
    """Return the variables of the engine's download. A claim may have the cache in a directory."""
    variables: list[Object] = [{"name": "HF_HOME", "value": CACHE}]
    if model.uri.scheme == "pvc+hf":
        hub = f"{CACHE}/{model.uri.path}" if model.uri.path else CACHE
        variables.append({"name": "HF_HUB_CACHE", "value": hub})
    return [*variables, token(model.secret)] if model.secret else variables


MODEL: Final = Concern(
    "model",
    model,
    writes=union(
        of_containers(
            {
                "env": values("name", "value", "valueFrom"),
                "volumeMounts": values("name", "mountPath", "readOnly", "subPath"),
            }
        ),
        WRITES,
    ),
    opt_out="remove `fusioninfer.io/model`, or mount a volume of your own at the path",
    rules=(
        Rule(
            "FI680",
            r"\.volumes\[fusioninfer-model(?:-secret)?\]",
            "holds the model, the cache of the engine's download, or the credentials of the init container",
            (ANNOTATION,),
        ),
        Rule(
            "FI681",
            r"\.volumeMounts\[/(?:mnt/models|model-cache)\]",
            "the engine reads the model there, or keeps what it downloads",
            (ANNOTATION,),
        ),
        Rule(
            "FI682",
            r"\.env\[(?:HF_HOME|HF_HUB_CACHE)\]",
            "Hugging Face's libraries keep the model on this volume; their default is in the container",
            (ANNOTATION,),
        ),
        Rule(
            "FI683",
            r"\.env\[HF_TOKEN\]",
            "the engine downloads the model with this token, which the kubelet takes from the Secret",
            (MODEL_SECRET,),
        ),
        Rule(
            "FI684",
            r"\.initContainers\[storage-initializer\]",
            "downloads the model to its volume before the engine starts",
            (ANNOTATION,),
        ),
    ),
)
