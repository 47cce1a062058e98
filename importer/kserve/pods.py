"""A pod of a workload as a pod template of ours: the plain command, without what FusionInfer adds itself.

The script of a preset looks for network devices, asks the engine for its version, and evaluates
`exec vllm serve …` with the variable `VLLM_ADDITIONAL_ARGS` and the arguments of the container. What it
evaluates is known without a shell, but for the flags that it chooses by the version. Another script stays as
it is.
"""

import re
from itertools import pairwise
from typing import Final

from importer.account import Account, Outcome, default, lost, told
from importer.leaves import Leaf, LeafPath, Tree, at, fields_at, items_at, mapped, origins, value_at
from importer.script import SHELLS, commands
from importer.words import GroupPod, StaysError, Variables
from intent.container import ROUTING_PROXY
from intent.model import INITIALIZER
from intent.shapes import text

MAIN: Final = "main"
SIDECAR: Final = "llm-d-routing-sidecar"
CERTIFICATES: Final = "tls-certs"
SERVED: Final = ("livenessProbe", "readinessProbe", "startupProbe", "ports")
BEHIND_SIDECAR: Final = 8001
PORT: Final = 8000
GUARD: Final = "--enable-ssrf-protection"
"""Of a routing sidecar: whether it reads the pool, to send prefill to its pods alone."""
DISCOVERS: Final = "KSERVE_INFER_ROCE"
"""Of a script: whether it looks for network devices, and sets variables of NCCL, NVSHMEM and UCX."""
ADDITIONAL: Final = "VLLM_ADDITIONAL_ARGS"
READ: Final = (
    *(ADDITIONAL, "VLLM_API_SERVER_COUNT", "DP_ADDRESS_RESOLVE_ATTEMPTS", "KSERVE_INFER_IB_GID_INDEX_GREP"),
)
"""Variables that only the script reads."""
BY_VERSION: Final = ("ACCESS_LOG_ARGS", "SHUTDOWN_TIMEOUT_ARGS", "KV_TRANSFER_ARGS")
"""Variables of the script that have flags for some versions of the engine, and are empty for others."""
_NO_TLS: Final = default(
    "pods serve HTTP, as in KServe without enableLLMInferenceServiceTLS; with it, they lose TLS", note=True
)
_BY_SIDECAR: Final = default("FusionInfer adds a routing sidecar to decoders")
_UNGUARDED: Final = told(
    "it needs a ServiceAccount that may read the pool, so it is off: pods of other services can be named as "
    "prefillers"
)
_INITIALIZER: Final = lost("FusionInfer downloads by itself; to change that, write the whole init container")
_DISCOVERY: Final = lost("no script looks for network devices: set NCCL_IB_HCA and NCCL_IB_GID_INDEX")
_SCRIPT: Final = default("the launcher starts the engine; FusionInfer needs no script")
_FLAGS: Final = told(
    "flags that it adds for some versions of the engine are left out: write --shutdown-timeout and "
    "those of the access log in the arguments, if yours has them"
)


def pod_of(pod: Tree, service: Tree, account: Account) -> tuple[dict[str, Tree], bool]:
    """Return a pod of KServe as the spec of a pod template, and whether its engine has a plain command.

    That is the command of a preset, to which FusionInfer adds launch, sizes and sidecar.
    """
    spec = _without(CERTIFICATES, fields_at(pod), "volumes", _NO_TLS, account)
    engine = next((each for each in items_at(spec, "containers") if value_at(each, "name") == MAIN), None)
    words = _arguments(engine)
    if value_at(service, "spec", "storageInitializer", "enabled") is not False:
        spec = _without(INITIALIZER, spec, "initContainers", _INITIALIZER, account)
    if words is not None:
        spec = _without(SIDECAR, spec, "initContainers", _BY_SIDECAR, account)
    elif first := items_at(spec, "initContainers"):
        spec["initContainers"] = [_init_container(each, account) for each in first]
    if engine is not None:
        own = _engine(engine, words, account)
        spec["containers"] = [own if each is engine else each for each in spec["containers"]]
    return spec, words is not None


def _without(
    name: str, tree: dict[str, Tree], field: str, outcome: Outcome, account: Account
) -> dict[str, Tree]:
    """Return a pod or a container without the items of a list that have a name."""
    items = items_at(tree, field)
    kept = [item for item in items if value_at(item, "name") != name]
    account.leave([item for item in items if item not in kept], outcome)
    others = {key: value for key, value in tree.items() if key != field}
    return {**tree, field: kept} if kept else others


def _init_container(container: Tree, account: Account) -> Tree:
    """Return an init container; the routing sidecar of KServe as one of the author's.

    It cannot read the pool: KServe gives the pods a ServiceAccount with that right, FusionInfer gives none.
    """
    if value_at(container, "name") != SIDECAR:
        return container

    def unguarded(_: LeafPath, leaf: Tree) -> Tree:
        if text(value_at(leaf)).partition("=")[0] != GUARD:
            return leaf
        account.leave(leaf, _UNGUARDED)
        return leaf.having(f"{GUARD}=false")

    own = _without(CERTIFICATES, container, "volumeMounts", _NO_TLS, account)
    return mapped({**own, "name": own["name"].having(ROUTING_PROXY)}, unguarded)


# --- the engine ---------------------------------------------------------------------------------------


def _engine(container: dict[str, Tree], words: tuple[Leaf, ...] | None, account: Account) -> dict[str, Tree]:
    """Return the engine's container; with the arguments in place of the script, if these are known.

    The port is that of the service, without TLS: the one behind a sidecar is FusionInfer's to choose.
    """
    own = _without(CERTIFICATES, container, "volumeMounts", _NO_TLS, account)
    if words is None:
        return own
    script = own["command"][2]
    if any(name in script.value for name in BY_VERSION):
        account.leave(script, _FLAGS)
    account.leave(own["command"], _SCRIPT)
    own["command"] = [script.having("vllm"), script.having("serve")]
    own["args"] = [
        word.having(str(PORT)) if before.value == "--port" else word
        for before, word in pairwise((Leaf(""), *words))
    ]
    for name in READ:
        own = _without(name, own, "env", _SCRIPT, account)
    own = _without(DISCOVERS, own, "env", _DISCOVERY, account)
    return {key: mapped(value, _plain_http) if key in SERVED else value for key, value in own.items()}


def _plain_http(path: LeafPath, leaf: Tree) -> Tree:
    if path[-1:] == ("scheme",) and leaf.value == "HTTPS":
        return leaf.having("HTTP")
    is_behind = path[-1:] in {("port",), ("containerPort",)} and leaf.value == BEHIND_SIDECAR
    return leaf.having(PORT) if is_behind else leaf


# --- the script of a preset ---------------------------------------------------------------------------

_EVALUATED: Final = re.compile(r'^\s*eval "exec (?P<line>vllm serve .*)"\s*\Z', re.DOTALL | re.MULTILINE)
_DEFAULTED: Final = re.compile(r"\$\{([A-Za-z_]\w*):-")
_OURS: Final = re.compile(
    r"(?<!\S)--(?:(?:tensor-parallel-size|data-parallel-(?:size|size-local|rpc-port|address|start-rank))\s+\S+"
    r"|enable-expert-parallel|headless)(?!\S)"
)
"""Flags of the script that `parallelism` and the launcher give."""


def _arguments(container: Tree) -> tuple[Leaf, ...] | None:
    """Return the arguments of `vllm serve` that the script of a preset starts in a container.

    None if its command is its author's, or if only a shell can tell it.
    """
    command, args = items_at(container, "command"), items_at(container, "args")
    words = [text(value_at(word)) for word in command]
    evaluated = _EVALUATED.search(words[2]) if len(words) in (3, 4) else None
    if evaluated is None or words[0] not in SHELLS or words[1] != "-c":
        return None
    line = _OURS.sub("", evaluated["line"])
    env = {text(value_at(entry, "name")): at(entry, "value") for entry in items_at(container, "env")}
    used = [command[2], *args, *(value for name, value in env.items() if value and name and name in line)]
    if not all(isinstance(value_at(leaf), str) for leaf in used):
        return None
    known = {name: text(value_at(value)) for name, value in env.items() if isinstance(value_at(value), str)}
    pod = GroupPod(env={**dict.fromkeys(env), **known})
    empty = dict.fromkeys((ADDITIONAL, *BY_VERSION, *_DEFAULTED.findall(line)), "")
    variables = Variables(pod, {**empty, **known, "@": " ".join(map(value_at, args))})
    try:
        # eval reads the line as text; its last word shows that no comment begins before
        expanded = variables.text(f'"{line} end"', splits=False)
        started = commands(Leaf(expanded, tuple(origins(used))), pod)
    except StaysError:
        return None
    is_whole = len(started) == 1 and started[0].words[-1].value == "end"
    return started[0].words[2:-1] if is_whole else None
