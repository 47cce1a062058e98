"""A pod of a workload as a pod template of ours: the plain command, without what FusionInfer adds itself."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from catalog.pickers.generations import POOLS
from importer.account import IGNORED, NO_COUNTERPART, Account, Outcome, default, dropped
from importer.kserve.bases import Merged
from importer.kserve.launch import DISCOVERS, READ, arguments
from importer.leaves import Leaf, Tree, at, fields_at, items_at, value_at
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


def pod_of(pod: Tree, service: Merged, account: Account) -> tuple[dict[str, Tree], bool]:
    """Return a pod of KServe as the spec of a pod template, and whether its engine has a plain command.

    That is the command of a preset, to which FusionInfer adds launch, sizes and sidecar.
    """
    spec = dict(fields_at(pod))
    plain = arguments(engine(spec))
    if isinstance(spec.get("containers"), list):
        containers = [_container(each, plain, service, account) for each in spec["containers"]]
        spec = {**spec, "containers": containers}
    first = items_at(spec, "initContainers")
    kept = [
        each for own in first for each in _init_container(own, service, account, is_plain=plain is not None)
    ]
    spec = {**spec, "initContainers": kept}
    if not kept:
        del spec["initContainers"]
    return _without_certificates(spec, "volumes", account), plain is not None


def has_sidecar(pod: Tree) -> bool:
    """Return whether a template has the routing sidecar of KServe: FusionInfer adds none then."""
    return any(value_at(each, "name") == ROUTING_PROXY for each in items_at(pod, "initContainers"))


def engine(pod: Tree) -> Tree:
    """Return the engine's container; None if there is none."""
    containers = items_at(pod, "containers")
    return next((each for each in containers if value_at(each, "name") == MAIN), None)


def _without_certificates(tree: dict[str, Tree], field: str, account: Account) -> dict[str, Tree]:
    """Return a pod or a container without the volume of certificates, or its mount, in a field."""
    items = items_at(tree, field)
    kept = [item for item in items if value_at(item, "name") != CERTIFICATES]
    account.leave([item for item in items if item not in kept], _NO_TLS)
    others = {key: value for key, value in tree.items() if key != field}
    return others | ({field: kept} if kept else {})


# --- init containers ----------------------------------------------------------------------------------


def _init_container(container: Tree, service: Merged, account: Account, *, is_plain: bool) -> Iterator[Tree]:
    """Yield an init container, if the output has it."""
    name = value_at(container, "name")
    if name == SIDECAR and is_plain:
        account.leave(container, _BY_SIDECAR)
    elif name == SIDECAR:
        yield _sidecar(_without_certificates(container, "volumeMounts", account), service, account)
    elif name == INITIALIZER and value_at(service.spec, "storageInitializer", "enabled") is not False:
        yield from _initializer(container, service, account)
    else:
        yield container


def _sidecar(container: dict[str, Tree], service: Merged, account: Account) -> Tree:
    """Return the routing sidecar of KServe as one of the author's, which leads to our pool.

    It cannot read the pool: KServe gives the pods a ServiceAccount with that right, FusionInfer gives none.
    """
    values = {
        POOL_FLAG: f"{service.namespace}/{service.name}{POOL_ENDING}",
        GROUP_FLAG: POOLS,
        GUARD_FLAG: "false",
    }
    words = {key: items_at(container, key) for key in ("command", "args") if key in container}
    for word in (word for each in words.values() for word in each):
        if text(value_at(word)).startswith(GUARD_FLAG):
            account.leave(word, _UNGUARDED)
    flagged = {key: [_flagged(word, values) for word in own] for key, own in words.items()}
    return {**container, "name": container["name"].having(ROUTING_PROXY), **flagged}


def _flagged(word: Tree, values: Mapping[str, str]) -> Tree:
    """Return an argument with the value that its flag has here."""
    flag = text(value_at(word)).partition("=")[0] + "="
    return word.having(flag + values[flag]) if flag in values else word


def _initializer(container: Tree, service: Merged, account: Account) -> Iterator[Tree]:
    """Yield the init container that downloads the model, whole, with the author's changes."""
    uri = at(service.spec, "model", "uri")
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


def _container(container: Tree, plain: tuple[Leaf, ...] | None, service: Merged, account: Account) -> Tree:
    """Return a container; the engine's with its arguments without a script, if these are known."""
    if value_at(container, "name") != MAIN:
        return container
    own = _without_certificates(container, "volumeMounts", account)
    if plain is None:
        return own
    script = own["command"][2]
    account.leave(own["command"], _SCRIPT)
    own["command"] = [script.having("vllm"), script.having("serve")]
    own["args"] = list(_on_port(_named(plain, service.spec)))
    if isinstance(own.get("env"), list):
        kept = list(_variables(own.pop("env"), account))
        own |= {"env": kept} if kept else {}
    return _probed(own)


def _variables(variables: Sequence[Tree], account: Account) -> Iterator[Tree]:
    """Yield the variables of the engine's container that not only the script reads."""
    for entry in variables:
        if value_at(entry, "name") not in READ:
            yield entry
        elif value_at(entry, "name") == DISCOVERS and value_at(entry, "value") == "true":
            account.leave(entry, _DISCOVERY)
        else:
            account.leave(entry, _SCRIPT)


def _named(words: Sequence[Leaf], spec: Tree) -> Iterator[Leaf]:
    """Yield the arguments; the name of the model has the field of the service as its origin too."""
    name = at(spec, "model", "name")
    for word in words:
        is_name = isinstance(name, Leaf) and word.value == name.value
        yield Leaf(word.value, (*word.origins, *name.origins)) if is_name else word


def _on_port(words: Iterable[Leaf]) -> Iterator[Leaf]:
    """Yield the arguments with the port of the service: the sidecar's is FusionInfer's to choose."""
    before = ""
    for word in words:
        yield word.having(str(PORT)) if before == "--port" else word
        before = word.value


def _probed(container: dict[str, Tree]) -> Tree:
    """Return the engine's container with its port in ports and probes, and without TLS."""
    changed = dict(container)
    for name in PROBES:
        if check := fields_at(container, name, "httpGet"):
            plain = {key: _plain_http(key, value) for key, value in check.items()}
            changed[name] = {**container[name], "httpGet": plain}
    if isinstance(container.get("ports"), list):
        changed["ports"] = [
            {key: _plain_http(key, value) for key, value in port.items()} if isinstance(port, dict) else port
            for port in container["ports"]
        ]
    return changed


def _plain_http(key: str, leaf: Tree) -> Tree:
    if isinstance(leaf, Leaf) and key == "scheme" and leaf.value == "HTTPS":
        return leaf.having("HTTP")
    if isinstance(leaf, Leaf) and key in {"port", "containerPort"} and leaf.value == BEHIND_SIDECAR:
        return leaf.having(PORT)
    return leaf
