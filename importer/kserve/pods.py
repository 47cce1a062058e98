"""A pod of a workload as a pod template of ours: the plain command, without what FusionInfer adds itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from catalog.pickers.generations import POOLS
from importer.kserve.account import Account
from importer.kserve.launch import DISCOVERS, Launched, is_script, launched
from importer.leaves import Leaf, Tree, at, items_at, origins, value_at
from importer.report import IGNORED, NO_COUNTERPART, Outcome, default, dropped
from importer.script import UnknownScriptError
from intent.container import ROUTING_PROXY
from intent.model import INITIALIZER, MODELS, VOLUME
from intent.names import POOL_ENDING
from intent.settings import Settings
from intent.shapes import text

MAIN: Final = "main"
SIDECAR: Final = "llm-d-routing-sidecar"
CERTIFICATES: Final = "tls-certs"
PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
BEHIND_SIDECAR: Final = 8001
PORT: Final = 8000
POOL_FLAG: Final = "--inference-pool="
GROUP_FLAG: Final = "--pool-group="
GUARD_FLAG: Final = "--enable-ssrf-protection="
"""Of a routing sidecar: whether it reads the pool, to send prefill to its pods alone."""
_NO_TLS: Final = default(
    "pods serve HTTP, as in KServe without enableLLMInferenceServiceTLS; with it, they lose TLS", note=True
)
_BY_SIDECAR: Final = default("FusionInfer adds a routing sidecar to decoders")
_OF_INITIALIZER: Final = dropped(
    IGNORED, "KServe overwrites command and arguments of its storage initializer"
)
_NOT_DOWNLOADED: Final = dropped(IGNORED, "KServe removes its storage initializer where it downloads nothing")
_UNGUARDED: Final = Outcome(
    "translated",
    reason="it needs a ServiceAccount that may read the pool, so it is off: pods of other services "
    "can be named as prefillers",
)
_DISCOVERY: Final = dropped(
    NO_COUNTERPART, "no script looks for network devices: set NCCL_IB_HCA and NCCL_IB_GID_INDEX"
)
_SCRIPT: Final = default("the launcher starts the engine; FusionInfer needs no script")


@dataclass(frozen=True, slots=True)
class OwningService:
    """The service that a pod belongs to: its spec with all bases, its name and namespace."""

    spec: Tree
    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """The spec of a pod template."""

    spec: Tree
    is_plain: bool
    """Whether the engine has the command of a preset, plain: FusionInfer adds launch, sizes and sidecar."""


def pod_of(pod: Tree, workload: Tree, owner: OwningService, account: Account) -> PodTemplate:
    """Return a pod of KServe as the spec of a pod template."""
    found = dict(pod) if isinstance(pod, dict) else {}
    found = _with_tiers(found, at(workload, "kvCacheOffloading", "secondary"))
    launch = _launched(engine(found))
    if isinstance(found.get("containers"), list):
        found["containers"] = [_container(one, launch, owner, account) for one in found["containers"]]
    first = found.pop("initContainers", None)
    if isinstance(first, list) and (kept := list(_init_containers(first, launch, owner, account))):
        found["initContainers"] = kept
    volumes = found.pop("volumes", None)
    if isinstance(volumes, list) and (kept := list(_without(volumes, CERTIFICATES, account))):
        found["volumes"] = kept
    return PodTemplate(found, launch is not None)


def has_sidecar(pod: Tree) -> bool:
    """Return whether a template has the routing sidecar of KServe: FusionInfer adds none then."""
    return any(value_at(one, "name") == ROUTING_PROXY for one in items_at(pod, "initContainers"))


def _launched(container: Tree) -> Launched | None:
    """Return the launch of the engine; None if its command is its author's, or only a shell can tell it."""
    try:
        return launched(container) if container is not None and is_script(container) else None
    except UnknownScriptError:
        return None


def _with_tiers(pod: dict[str, Tree], tiers: Tree) -> dict[str, Tree]:
    """Return a pod with the volumes of its KV cache (kserve `workload_kvcache.go`)."""
    container = engine(pod)
    for number, tier in enumerate(tiers if isinstance(tiers, list) else []):
        source, path = _tier(at(tier, "fileSystem"))
        if source is None or container is None:
            continue
        name = f"kv-cache-secondary-{number}"
        mount = {"name": Leaf(name), "mountPath": Leaf(f"/mnt/kv-cache-{number}"), **path}
        changed = {**container, "volumeMounts": [*items_at(container, "volumeMounts"), mount]}
        containers = [changed if one is container else one for one in pod["containers"]]
        volumes = [*items_at(pod, "volumes"), {"name": Leaf(name), **source}]
        pod, container = {**pod, "containers": containers, "volumes": volumes}, changed
    return pod


def _tier(files: Tree) -> tuple[dict[str, Tree] | None, dict[str, Tree]]:
    """Return the source of a tier's volume, and the path in it as a field of the mount."""
    size, spec, claim = (
        at(files, "emptyDir", "size"),
        at(files, "pvc", "spec"),
        at(files, "pvc", "ref", "name"),
    )
    if size is not None:
        return {"emptyDir": {"sizeLimit": size}}, {}
    if spec is not None:
        return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}, {}
    path = at(files, "pvc", "ref", "path")
    if claim is None:
        return None, {}
    return {"persistentVolumeClaim": {"claimName": claim}}, {"subPath": path} if path is not None else {}


def engine(pod: Tree) -> Tree:
    """Return the engine's container; None if there is none."""
    containers = at(pod, "containers")
    named = containers if isinstance(containers, list) else []
    return next((one for one in named if value_at(one, "name") == MAIN), None)


def _without(items: list[Tree], name: str, account: Account) -> Iterator[Tree]:
    for one in items:
        if value_at(one, "name") == name:
            account.leave(one, _NO_TLS)
        else:
            yield one


def _without_certificates(container: Tree, account: Account) -> dict[str, Tree]:
    found = dict(container)
    mounts = list(_without(items_at(found, "volumeMounts"), CERTIFICATES, account))
    found.pop("volumeMounts", None)
    return found | ({"volumeMounts": mounts} if mounts else {})


# --- init containers ----------------------------------------------------------------------------------


def _init_containers(
    containers: list[Tree], launch: Launched | None, owner: OwningService, account: Account
) -> Iterator[Tree]:
    for one in containers:
        name = value_at(one, "name")
        if name == SIDECAR and launch is not None:
            account.leave(one, _BY_SIDECAR)
        elif name == SIDECAR:
            yield _sidecar(_without_certificates(one, account), owner, account)
        elif name == INITIALIZER and value_at(owner.spec, "storageInitializer", "enabled") is not False:
            yield from _initializer(one, owner, account)
        else:
            yield one


def _sidecar(container: dict[str, Tree], owner: OwningService, account: Account) -> Tree:
    """Return the routing sidecar of KServe as one of the author's, which leads to our pool.

    It cannot read the pool: KServe gives the pods a ServiceAccount with that right, FusionInfer gives none.
    """
    values = {
        POOL_FLAG: f"{owner.namespace}/{owner.name}{POOL_ENDING}",
        GROUP_FLAG: POOLS,
        GUARD_FLAG: "false",
    }
    found = container | {"name": container["name"].having(ROUTING_PROXY)}
    for key in ("command", "args"):
        if key in found:
            found[key] = [_flagged(one, values) for one in items_at(found, key)]
            for one in items_at(container, key):
                if isinstance(one, Leaf) and text(one.value).startswith(GUARD_FLAG):
                    account.leave(one, _UNGUARDED)
    return found


def _flagged(word: Tree, values: Mapping[str, str]) -> Tree:
    """Return an argument with the value that its flag has here."""
    flag = text(word.value).partition("=")[0] + "=" if isinstance(word, Leaf) else ""
    return word.having(flag + values[flag]) if flag in values else word


def _initializer(container: Tree, owner: OwningService, account: Account) -> Iterator[Tree]:
    """Yield the init container that downloads the model, whole, with the author's changes."""
    uri = at(owner.spec, "model", "uri")
    if not isinstance(uri, Leaf) or not text(uri.value).startswith(("hf://", "s3://")):
        account.leave(container, _NOT_DOWNLOADED)
        return
    for key in ("command", "args"):
        account.leave(container.get(key, {}), _OF_INITIALIZER)
    own = {key: value for key, value in container.items() if key not in ("command", "args")}
    own.setdefault("image", Leaf(Settings().storage_initializer_image))
    mount = {"name": Leaf(VOLUME), "mountPath": Leaf(MODELS)}
    yield own | {"args": [uri, Leaf(MODELS)], "volumeMounts": [*items_at(own, "volumeMounts"), mount]}


# --- the engine ---------------------------------------------------------------------------------------


def _container(container: Tree, launch: Launched | None, owner: OwningService, account: Account) -> Tree:
    if not isinstance(container, dict) or value_at(container, "name") != MAIN:
        return container
    found = _without_certificates(container, account)
    if launch is None:
        return found
    account.leave(found["command"], _SCRIPT)
    script = found["command"][2]
    found["command"] = [script.having("vllm"), script.having("serve")]
    found["args"] = list(_on_port(_named(launch.arguments, owner.spec)))
    if isinstance(found.get("env"), list):
        kept = list(_variables(found.pop("env"), launch, account))
        found |= {"env": kept} if kept else {}
    return _probed(found)


def _variables(variables: list[Tree], launch: Launched, account: Account) -> Iterator[Tree]:
    for one in variables:
        name = text(value_at(one, "name"))
        if name not in launch.read:
            yield one
        elif name == DISCOVERS and value_at(one, "value") == "true":
            account.leave(one, _DISCOVERY)
        else:
            account.leave(one, _SCRIPT)


def _named(arguments: tuple[Leaf, ...], asked: Tree) -> tuple[Leaf, ...]:
    """Return the arguments; those that fields of the service became have these as their origins too."""
    name, offloading = at(asked, "model", "name"), at(asked, "kvCacheOffloading")
    known = {text(name.value): name.origins} if isinstance(name, Leaf) else {}
    found = []
    for one in arguments:
        more = known.get(one.value, ()) if isinstance(one.value, str) else ()
        if offloading is not None and "OffloadingConnector" in text(one.value):
            more = tuple(origins(offloading))
        found.append(Leaf(one.value, (*one.origins, *more)))
    return tuple(found)


def _on_port(arguments: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
    """Return the arguments with the port of the service: the sidecar's is FusionInfer's to choose."""
    return tuple(
        one.having(str(PORT)) if before is not None and before.value == "--port" else one
        for before, one in zip((None, *arguments), arguments, strict=False)
    )


def _probed(container: dict[str, Tree]) -> Tree:
    """Return the engine's container with its port in ports and probes, and without TLS."""
    found = dict(container)
    for name in PROBES:
        check = at(found, name, "httpGet")
        if isinstance(check, dict):
            found[name] = {
                **found[name],
                "httpGet": {key: _plain_http(key, one) for key, one in check.items()},
            }
    if isinstance(found.get("ports"), list):
        found["ports"] = [
            {key: _plain_http("port" if key == "containerPort" else key, value) for key, value in one.items()}
            if isinstance(one, dict)
            else one
            for one in found["ports"]
        ]
    return found


def _plain_http(key: str, leaf: Tree) -> Tree:
    if isinstance(leaf, Leaf) and key == "scheme" and leaf.value == "HTTPS":
        return leaf.having("HTTP")
    if isinstance(leaf, Leaf) and key == "port" and leaf.value == BEHIND_SIDECAR:
        return leaf.having(PORT)
    return leaf
