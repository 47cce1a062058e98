"""The files of a model and of LoRA adapters: volumes in every engine, and init containers that download.

What downloads is KServe's storage initializer. Its contract is two arguments: a URI, and the path to which it
is downloaded. The Secret is named, never read.
"""

from collections.abc import Iterable
from typing import Final

from intent import Object
from intent.annotations import LORA as ADAPTERS
from intent.annotations import MODEL as MODEL_URI
from intent.annotations import MODEL_SECRET
from intent.launch import Launch
from intent.lora import DOWNLOADS, Adapter
from intent.lora import INITIALIZER as ADAPTER_INITIALIZER
from intent.lws import Engine
from intent.model import CACHE, INITIALIZER, MODELS, SECRET_VOLUME, VOLUME, Model, Uri
from intent.tree import Overlay
from webhook.layout import Input
from webhook.mutate.concern import (
    Concern,
    Rule,
    for_engines,
    in_engine,
    of_containers,
    of_templates,
    union,
    unprivileged,
    values,
)

LIMITS: Final = {"cpu": "2", "memory": "4Gi"}
"""They default the requests, so a Guaranteed pod stays so. KServe's 1Gi is too little for large files."""
TOKEN: Final = "HF_TOKEN"  # noqa: S105 - the name of a variable, and of a key in the Secret
GOOGLE_SECRETS: Final = "/var/secrets"
GOOGLE_FILE: Final = f"{GOOGLE_SECRETS}/gcloud-application-credentials.json"
"""The key of the Secret of a Google service account, as KServe names it (`pkg/credentials/gcs`)."""
_MOUNT: Final = values("name", "mountPath", "readOnly", "subPath")
_ENV: Final = values("name", "value", "valueFrom")
_CONTAINER: Final = {
    **values("name", "image", "args", "envFrom", "resources", "securityContext"),
    "env": _ENV,
    "volumeMounts": _MOUNT,
}
_VOLUMES: Final = values("name", "emptyDir", "persistentVolumeClaim", "image", "secret")
_WRITES: Final = union(
    of_containers({"env": _ENV, "volumeMounts": _MOUNT}),
    of_templates({"spec": {"volumes": _VOLUMES, "initContainers": _CONTAINER}}),
)

# --- the model ----------------------------------------------------------------------------------------


@for_engines
def model(launch: Launch, inputs: Input) -> Overlay:
    """Mount the model or its cache in every engine, and download it first where no engine could.

    An author's own mount at the path holds the model, or the cache.
    """
    asked, engine = inputs.intent.artifact, launch.engine
    if asked is None:
        return {}
    container: Overlay = {"env": _cache(asked)} if asked.is_cached else {}
    if asked.mounted_by_author(engine.mounts, engine.model_mounts):
        return in_engine(engine, container)
    uri, cache = asked.uri, asked.cache
    container["volumeMounts"] = [
        _mount(
            VOLUME,
            asked.mount,
            uri.path if uri.scheme == "pvc" else cache.path,
            read_only=not asked.is_cached,
        )
    ]
    pod: Overlay = {"volumes": [{"name": VOLUME, **_source(uri, _kept(asked))}]}
    if asked.is_downloaded:
        mount = {"name": VOLUME, "mountPath": MODELS}
        pod["initContainers"] = [_downloader(INITIALIZER, uri, mount, engine, inputs)]
        pod["volumes"] += _credentials([uri], asked.secret)
    return in_engine(engine, container, pod)


def _kept(model: Model) -> Object:
    """Return the source of a volume that is written to."""
    if claim := model.uri.claim or model.cache.claim:
        return {"persistentVolumeClaim": {"claimName": claim}}
    return {"emptyDir": {"sizeLimit": model.cache.size} if model.cache.size else {}}


def _cache(model: Model) -> list[Object]:
    """Return the variables of the engine's download. A claim may have the cache in a directory."""
    variables: list[Object] = [{"name": "HF_HOME", "value": CACHE}]
    if model.uri.scheme == "pvc+hf":
        hub = f"{CACHE}/{model.uri.path}" if model.uri.path else CACHE
        variables.append({"name": "HF_HUB_CACHE", "value": hub})
    return [*variables, _token(model.secret)] if model.secret else variables


MODEL: Final = Concern(
    "model",
    model,
    writes=_WRITES,
    asked="model",
    opt_out="remove `fusioninfer.io/model`, or mount a volume of your own at the path",
    rules=(
        Rule(
            "FI680",
            r"\.volumes\[fusioninfer-model(?:-secret)?\]|\.volumeMounts\[/(?:mnt/models|model-cache)\]",
            "holds the model, the cache of the engine's download, or the credentials of the init container",
            (MODEL_URI,),
        ),
        Rule(
            "FI682",
            r"\.env\[(?:HF_HOME|HF_HUB_CACHE)\]",
            "Hugging Face's libraries keep the model on this volume; their default is in the container",
            (MODEL_URI,),
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
            (MODEL_URI,),
        ),
    ),
)

# --- adapters -----------------------------------------------------------------------------------------


@for_engines
def lora(launch: Launch, inputs: Input) -> Overlay:
    """Mount every adapter in every engine, and download it first where the engine does not.

    A mount of the author's at the path of an adapter holds its files. Adapters of one service share one
    volume for what is downloaded, a directory each. No mount is inside of another one: below a mount that is
    only read, no container could create its directory.
    """
    intent, engine = inputs.intent, launch.engine
    by_engine, secret = intent.downloads_models, intent.model_secret
    needed = [adapter for adapter in intent.adapters.adapters if adapter.mount not in engine.mounts]
    mounted = [adapter for adapter in needed if adapter.argument(by_engine=by_engine) == adapter.path]
    downloaded = [adapter for adapter in mounted if adapter.is_downloaded(by_engine=by_engine)]
    volumes = {
        _volume(adapter): _source(adapter.uri, {"emptyDir": {}}) for adapter in (*downloaded, *mounted)
    }
    container = {
        "env": [_token(secret)] if secret and len(mounted) < len(needed) else [],
        "volumeMounts": [_of_adapter(adapter, read_only=True) for adapter in mounted],
    }
    pod = {
        "volumes": [
            *({"name": name, **source} for name, source in volumes.items()),
            *_credentials((adapter.uri for adapter in downloaded), secret),
        ],
        "initContainers": [
            _downloader(
                f"{ADAPTER_INITIALIZER}-{adapter.label}", adapter.uri, _of_adapter(adapter), engine, inputs
            )
            for adapter in downloaded
        ],
    }
    return in_engine(engine, _nonempty(container), _nonempty(pod))


def _nonempty(lists: dict[str, list[Object]]) -> Overlay:
    return {name: items for name, items in lists.items() if items}


def _volume(adapter: Adapter) -> str:
    return f"{DOWNLOADS}-{adapter.label}" if adapter.uri.scheme in {"pvc", "oci"} else DOWNLOADS


def _of_adapter(adapter: Adapter, *, read_only: bool = False) -> Object:
    """Return the mount of an adapter; in the shared volume it has a directory."""
    uri, name = adapter.uri, _volume(adapter)
    path = adapter.label if name == DOWNLOADS else uri.path if uri.scheme == "pvc" else ""
    return _mount(name, adapter.mount, path, read_only=read_only)


LORA: Final = Concern(
    "lora",
    lora,
    writes=_WRITES,
    asked="lora",
    opt_out="remove `fusioninfer.io/lora`, or mount a volume of your own at the path of an adapter",
    rules=(
        Rule(
            "FI690",
            r"\.volumes\[fusioninfer-lora(?:-[a-z0-9-]+)?\]|\.volumeMounts\[/mnt/lora/[a-z0-9-]+\]",
            "holds LoRA adapters: those that are downloaded, or those of a claim or an image",
            (ADAPTERS,),
        ),
        Rule(
            "FI692",
            r"\.initContainers\[lora-initializer-[a-z0-9-]+\]",
            "downloads an adapter to its volume before the engine starts",
            (ADAPTERS,),
        ),
        Rule(
            "FI693",
            r"\.env\[HF_TOKEN\]",
            "the engine downloads adapters with this token, which the kubelet takes from the Secret",
            (MODEL_SECRET,),
        ),
    ),
)

# --- both ---------------------------------------------------------------------------------------------


def _source(uri: Uri, kept: Object) -> Object:
    """Return the source of a volume: an image or a claim, which are only read, or `kept`."""
    if uri.scheme == "oci":
        return {"image": {"reference": uri.image, "pullPolicy": "IfNotPresent"}}
    if uri.scheme == "pvc":
        return {"persistentVolumeClaim": {"claimName": uri.claim, "readOnly": True}}
    return kept


def _mount(volume: str, mount_path: str, path: str, *, read_only: bool) -> Object:
    """Return the mount of the directory `path` of a volume; empty: all of it."""
    mount: Object = {"name": volume, "mountPath": mount_path}
    return mount | ({"subPath": path} if path else {}) | ({"readOnly": True} if read_only else {})


def _token(secret: str) -> Object:
    """Return the variable with the token for Hugging Face, which the kubelet takes from the Secret."""
    return {"name": TOKEN, "valueFrom": {"secretKeyRef": {"name": secret, "key": TOKEN}}}


def _downloader(name: str, uri: Uri, mount: Object, engine: Engine, inputs: Input) -> Object:
    """Return the init container that downloads to the path of a mount, as the user of the engine.

    For S3 and HTTPS every key of the Secret is a variable, as in KServe; Google's libraries read a file.
    """
    settings, secret = inputs.settings, inputs.intent.model_secret
    credentials: Object = {"envFrom": [{"secretRef": {"name": secret}}]} if secret else {}
    if uri.scheme == "hf":
        home = {"name": "HF_HOME", "value": "/tmp"}  # noqa: S108 - any user of the container may write there
        credentials = {"env": [home, _token(secret)] if secret else [home]}
    elif uri.scheme == "gs" and secret:
        credentials = {"env": [{"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": GOOGLE_FILE}]}
    files = [
        _mount(volume["name"], GOOGLE_SECRETS, "", read_only=True) for volume in _credentials([uri], secret)
    ]
    return {
        "name": name,
        "image": settings.storage_initializer_image,
        "args": [uri.text, mount["mountPath"]],
        **credentials,
        "volumeMounts": [mount, *files],
        "resources": settings.storage_initializer_resources or {"limits": dict(LIMITS)},
        "securityContext": unprivileged(engine),
    }


def _credentials(uris: Iterable[Uri], secret: str) -> list[Object]:
    """Return the volume with the Secret as a file, if one of these is downloaded from Google."""
    is_read = secret and any(uri.scheme == "gs" for uri in uris)
    return [{"name": SECRET_VOLUME, "secret": {"secretName": secret}}] if is_read else []
