"""A pod of a workload as a pod template of ours: the plain command, without what FusionInfer adds itself."""

from collections.abc import Iterator
from typing import Final

from importer.kserve.account import Account
from importer.kserve.launch import DISCOVERS, Launched, UnknownScriptError, is_script, launched
from importer.kserve.merge import at, value_at
from importer.leaves import Leaf, Tree, origins
from importer.report import IGNORED, NO_COUNTERPART, default, dropped
from intent.model import INITIALIZER
from intent.shapes import text

MAIN: Final = "main"
SIDECAR: Final = "llm-d-routing-sidecar"
CERTIFICATES: Final = "tls-certs"
PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
BEHIND_SIDECAR: Final = 8001
PORT: Final = 8000
SERVED: Final = "--served-model-name"
_NO_TLS: Final = dropped(
    NO_COUNTERPART, "pods serve without TLS; FusionInfer makes no certificates between pods"
)
_BY_SIDECAR: Final = default("FusionInfer adds a routing sidecar to decoders")
_OF_INITIALIZER: Final = dropped(
    IGNORED, "KServe overwrites command and arguments of its storage initializer"
)
_DISCOVERY: Final = dropped(
    NO_COUNTERPART, "no script looks for network devices: set NCCL_IB_HCA and NCCL_IB_GID_INDEX"
)
_SCRIPT: Final = default("the launcher starts the engine; FusionInfer needs no script")


def pod_spec(pod: Tree, workload: Tree, asked: Tree, account: Account) -> Tree:
    """Return a pod of KServe as the spec of a pod template. `asked` is the spec of the whole service."""
    found = dict(pod) if isinstance(pod, dict) else {}
    found = _with_tiers(found, at(workload, "kvCacheOffloading", "secondary"))
    if isinstance(found.get("containers"), list):
        found["containers"] = [_container(one, asked, account) for one in found["containers"]]
    if isinstance(found.get("initContainers"), list):
        kept = list(_init_containers(found.pop("initContainers"), account))
        found |= {"initContainers": kept} if kept else {}
    if isinstance(found.get("volumes"), list):
        kept = list(_without(found.pop("volumes"), "name", CERTIFICATES, account))
        found |= {"volumes": kept} if kept else {}
    return found


def _with_tiers(pod: dict[str, Tree], tiers: Tree) -> dict[str, Tree]:
    """Return a pod with the volumes of its KV cache (kserve `workload_kvcache.go`)."""
    container = engine(pod)
    for number, tier in enumerate(tiers if isinstance(tiers, list) else []):
        source, path = _tier(at(tier, "fileSystem"))
        if source is None or container is None:
            continue
        name = f"kv-cache-secondary-{number}"
        mount = {"name": Leaf(name), "mountPath": Leaf(f"/mnt/kv-cache-{number}"), **path}
        changed = {**container, "volumeMounts": [*_list(container, "volumeMounts"), mount]}
        containers = [changed if one is container else one for one in pod["containers"]]
        volumes = [*_list(pod, "volumes"), {"name": Leaf(name), **source}]
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


def _list(tree: Tree, key: str) -> list[Tree]:
    found = at(tree, key)
    return found if isinstance(found, list) else []


def engine(pod: Tree) -> Tree:
    """Return the engine's container; None if there is none."""
    containers = at(pod, "containers")
    named = containers if isinstance(containers, list) else []
    return next((one for one in named if value_at(one, "name") == MAIN), None)


def _without(items: list[Tree], key: str, name: str, account: Account) -> Iterator[Tree]:
    for one in items:
        if value_at(one, key) == name:
            account.leave(one, _NO_TLS)
        else:
            yield one


def _init_containers(containers: list[Tree], account: Account) -> Iterator[Tree]:
    for one in containers:
        if value_at(one, "name") == SIDECAR:
            account.leave(one, _BY_SIDECAR)
        elif value_at(one, "name") == INITIALIZER:
            for key in ("command", "args"):
                account.leave(one.get(key, {}), _OF_INITIALIZER)
            yield {key: value for key, value in one.items() if key not in ("command", "args")}
        else:
            yield one


def _container(container: Tree, asked: Tree, account: Account) -> Tree:
    if not isinstance(container, dict) or value_at(container, "name") != MAIN:
        return container
    found = dict(container)
    if isinstance(found.get("volumeMounts"), list):
        kept = list(_without(found.pop("volumeMounts"), "name", CERTIFICATES, account))
        found |= {"volumeMounts": kept} if kept else {}
    if not is_script(found):
        return found
    try:
        launch = launched(found)
    except UnknownScriptError:
        return found
    account.leave(found["command"], _SCRIPT)
    plain = _on_port(_named(launch.arguments, asked))
    script = found["command"][2]
    found["command"] = [script.having("vllm"), script.having("serve")]
    found["args"] = list(plain)
    if "env" in found:
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
