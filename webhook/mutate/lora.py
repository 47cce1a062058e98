"""The files of LoRA adapters, in every engine: each adapter has a mount of its own.

Adapters of one service share one volume for what is downloaded, a directory each. No mount is inside of
another one: below a mount that is only read, no container could create its directory.
"""

from typing import Final

from intent import Object
from intent.annotations import LORA as ANNOTATION
from intent.annotations import MODEL_SECRET
from intent.lora import DOWNLOADS, INITIALIZER, Adapter
from intent.lws import Engine, Intent
from intent.settings import Settings
from intent.tree import Overlay
from webhook.layout import Input
from webhook.mutate.concern import Concern, Rule, of_containers, union, values
from webhook.mutate.download import WRITES, Download, init_container, token
from webhook.mutate.templates import for_engines, in_engine


def lora(inputs: Input) -> Overlay:
    """Mount every adapter in every engine, and download it first where the engine does not."""
    intent = inputs.intent
    if not intent.lora:
        return {}
    return for_engines(inputs.layout, lambda _, engine: _template(intent, engine, inputs.settings))


def _template(intent: Intent, engine: Engine, settings: Settings) -> Overlay:
    """Return the overlay of one pod. A mount of the author's at the path of an adapter holds its files."""
    by_engine = intent.downloads_models
    here = [one for one in intent.adapters.adapters if one.mount not in engine.mounts]
    mounted = [one for one in here if one.argument(by_engine=by_engine) == one.path]
    downloads = [_download(one, intent) for one in mounted if one.is_downloaded(by_engine=by_engine)]
    container = {
        "env": [token(intent.model_secret)] if intent.model_secret and len(mounted) < len(here) else [],
        "volumeMounts": [_mount(one) for one in mounted],
    }
    pod = {
        "volumes": _volumes(mounted, downloads),
        "initContainers": [init_container(one, engine, settings) for one in downloads],
    }
    return in_engine(engine, _filled(container), _filled(pod))


def _filled(lists: dict[str, list[Object]]) -> Overlay:
    return {name: items for name, items in lists.items() if items}


def _download(adapter: Adapter, intent: Intent) -> Download:
    mount = {"name": DOWNLOADS, "mountPath": adapter.mount, "subPath": adapter.label}
    return Download(f"{INITIALIZER}-{adapter.label}", adapter.uri, mount, intent.model_secret)


def _mount(adapter: Adapter) -> Object:
    uri = adapter.uri
    if uri.scheme in {"pvc", "oci"}:
        path = {"subPath": uri.path} if uri.scheme == "pvc" and uri.path else {}
        return {"name": _volume(adapter), "mountPath": adapter.mount, **path, "readOnly": True}
    return {"name": DOWNLOADS, "mountPath": adapter.mount, "subPath": adapter.label, "readOnly": True}


def _volume(adapter: Adapter) -> str:
    return f"{DOWNLOADS}-{adapter.label}"


def _volumes(mounted: list[Adapter], downloads: list[Download]) -> list[Object]:
    found: list[Object] = [{"name": DOWNLOADS, "emptyDir": {}}] if downloads else []
    for one in mounted:
        if one.uri.scheme == "oci":
            image = {"reference": one.uri.image, "pullPolicy": "IfNotPresent"}
            found.append({"name": _volume(one), "image": image})
        elif one.uri.scheme == "pvc":
            claim = {"claimName": one.uri.claim, "readOnly": True}
            found.append({"name": _volume(one), "persistentVolumeClaim": claim})
    files = [volume for download in downloads for volume in download.secret_volumes]
    return [*found, *files[:1]]


LORA: Final = Concern(
    "lora",
    lora,
    writes=union(
        of_containers(
            {
                "env": values("name", "valueFrom"),
                "volumeMounts": values("name", "mountPath", "readOnly", "subPath"),
            }
        ),
        WRITES,
    ),
    opt_out="remove `fusioninfer.io/lora`, or mount a volume of your own at the path of an adapter",
    rules=(
        Rule(
            "FI690",
            r"\.volumes\[fusioninfer-lora(?:-[a-z0-9-]+)?\]",
            "holds LoRA adapters: those that are downloaded, or those of a claim or an image",
            (ANNOTATION,),
        ),
        Rule(
            "FI691",
            r"\.volumeMounts\[/mnt/lora/[a-z0-9-]+\]",
            "the engine reads the adapter there",
            (ANNOTATION,),
        ),
        Rule(
            "FI692",
            r"\.initContainers\[lora-initializer-[a-z0-9-]+\]",
            "downloads an adapter to its volume before the engine starts",
            (ANNOTATION,),
        ),
        Rule(
            "FI693",
            r"\.env\[HF_TOKEN\]",
            "the engine downloads adapters with this token, which the kubelet takes from the Secret",
            (MODEL_SECRET,),
        ),
    ),
)
