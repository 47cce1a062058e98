"""A pod of a workload as a pod template of ours: the plain command, without what FusionInfer adds itself."""

from collections.abc import Iterable, Iterator
from typing import Final

from catalog.pickers.generations import POOLS
from importer.account import Account, Outcome, default, lost
from importer.kserve.bases import Merged
from importer.kserve.launch import DISCOVERS, READ, arguments
from importer.leaves import Leaf, Tree, fields_at, items_at, value_at
from intent.container import ROUTING_PROXY
from intent.model import INITIALIZER
from intent.names import POOL_ENDING
from intent.shapes import text

MAIN: Final = "main"
SIDECAR: Final = "llm-d-routing-sidecar"
CERTIFICATES: Final = "tls-certs"
SERVED: Final = ("livenessProbe", "readinessProbe", "startupProbe", "ports")
BEHIND_SIDECAR: Final = 8001
PORT: Final = 8000
GUARD: Final = "--enable-ssrf-protection"
"""Of a routing sidecar: whether it reads the pool, to send prefill to its pods alone."""
_NO_TLS: Final = default(
    "pods serve HTTP, as in KServe without enableLLMInferenceServiceTLS; with it, they lose TLS", note=True
)
_BY_SIDECAR: Final = default("FusionInfer adds a routing sidecar to decoders")
_UNGUARDED: Final = Outcome(
    "translated",
    reason="it needs a ServiceAccount that may read the pool, so it is off: pods of other services "
    "can be named as prefillers",
)
_INITIALIZER: Final = lost("FusionInfer downloads by itself; to change that, write the whole init container")
_DISCOVERY: Final = lost("no script looks for network devices: set NCCL_IB_HCA and NCCL_IB_GID_INDEX")
_SCRIPT: Final = default("the launcher starts the engine; FusionInfer needs no script")


def pod_of(pod: Tree, service: Merged, account: Account) -> tuple[dict[str, Tree], bool]:
    """Return a pod of KServe as the spec of a pod template, and whether its engine has a plain command.

    That is the command of a preset, to which FusionInfer adds launch, sizes and sidecar.
    """
    spec = _without(CERTIFICATES, fields_at(pod), "volumes", _NO_TLS, account)
    engine = next((each for each in items_at(spec, "containers") if value_at(each, "name") == MAIN), None)
    words = arguments(engine)
    if value_at(service.spec, "storageInitializer", "enabled") is not False:
        spec = _without(INITIALIZER, spec, "initContainers", _INITIALIZER, account)
    if words is not None:
        spec = _without(SIDECAR, spec, "initContainers", _BY_SIDECAR, account)
    elif "initContainers" in spec:
        first = items_at(spec, "initContainers")
        spec["initContainers"] = [_init_container(each, service, account) for each in first]
    if engine is not None:
        own = _engine(engine, words, account)
        spec["containers"] = [own if each is engine else each for each in spec["containers"]]
    return spec, words is not None


def _without(
    name: str, tree: dict[str, Tree], field: str, outcome: Outcome, account: Account
) -> dict[str, Tree]:
    """Return a pod or a container without the items of a list that have a name."""
    items = items_at(tree, field)
    gone = [item for item in items if value_at(item, "name") == name]
    account.leave(gone, outcome)
    kept = [item for item in items if item not in gone]
    changed = {key: kept if key == field else value for key, value in tree.items()}
    return {key: value for key, value in changed.items() if key != field or kept}


def has_sidecar(pod: Tree) -> bool:
    """Return whether a template has the routing sidecar of KServe: FusionInfer adds none then."""
    return any(value_at(each, "name") == ROUTING_PROXY for each in items_at(pod, "initContainers"))


def _init_container(container: Tree, service: Merged, account: Account) -> Tree:
    """Return an init container; the routing sidecar of KServe as one of the author's, with our pool.

    It cannot read the pool: KServe gives the pods a ServiceAccount with that right, FusionInfer gives none.
    """
    if value_at(container, "name") != SIDECAR:
        return container
    values = {
        "--inference-pool": f"{service.namespace}/{service.name}{POOL_ENDING}",
        "--pool-group": POOLS,
        GUARD: "false",
    }

    def flagged(word: Tree) -> Tree:
        flag = text(value_at(word)).partition("=")[0]
        if flag == GUARD:
            account.leave(word, _UNGUARDED)
        return word.having(f"{flag}={values[flag]}") if flag in values else word

    own = _without(CERTIFICATES, container, "volumeMounts", _NO_TLS, account)
    words = {key: list(map(flagged, items_at(own, key))) for key in ("command", "args") if key in own}
    return {**own, "name": own["name"].having(ROUTING_PROXY), **words}


# --- the engine ---------------------------------------------------------------------------------------


def _engine(container: dict[str, Tree], words: tuple[Leaf, ...] | None, account: Account) -> dict[str, Tree]:
    """Return the engine's container; with the arguments in place of the script, if these are known."""
    own = _without(CERTIFICATES, container, "volumeMounts", _NO_TLS, account)
    if words is None:
        return own
    script = own["command"][2]
    account.leave(own["command"], _SCRIPT)
    own["command"] = [script.having("vllm"), script.having("serve")]
    own["args"] = list(_on_port(words))
    for name in READ:
        own = _without(name, own, "env", _DISCOVERY if name == DISCOVERS else _SCRIPT, account)
    return {key: _plain_http(key, value) if key in SERVED else value for key, value in own.items()}


def _on_port(words: Iterable[Leaf]) -> Iterator[Leaf]:
    """Yield the arguments with the port of the service: the sidecar's is FusionInfer's to choose."""
    before = ""
    for word in words:
        yield word.having(str(PORT)) if before == "--port" else word
        before = word.value


def _plain_http(key: str, tree: Tree) -> Tree:
    """Return ports or a probe of the engine with the port of the service, and without TLS."""
    if isinstance(tree, dict):
        return {name: _plain_http(name, below) for name, below in tree.items()}
    if isinstance(tree, list):
        return [_plain_http(key, below) for below in tree]
    if key == "scheme" and tree.value == "HTTPS":
        return tree.having("HTTP")
    is_behind = key in {"port", "containerPort"} and tree.value == BEHIND_SIDECAR
    return tree.having(PORT) if is_behind else tree
