"""Containers: the engine container read into an `Engine`, the ports of a pod, and what containers lack."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from typing import Any, Final

from catalog.engines import DEFAULT_PORT
from catalog.pickers.generations import PICKERS, SIDECARS, release_of
from intent import Object, accelerators
from intent.errors import FieldError
from intent.lws import Engine, Ports, Probe
from intent.model import INITIALIZER
from intent.model import VOLUME as MODEL_VOLUME
from intent.served import HIGHEST
from intent.shapes import EMPTY, Later, bytes_of, containers_of, listed, mapping, number, strings, text

PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")
HOOKS: Final = ("postStart", "preStop")
HANDLERS: Final = ("httpGet", "tcpSocket", "grpc", "exec")
CALLS: Final = frozenset({"httpGet", "tcpSocket"})
"""Handlers that connect to a port."""
SECURITY: Final = ("runAsGroup", "runAsNonRoot", "runAsUser", "seccompProfile")
"""Fields that Pod Security Standards require of every container, and only the author can set."""
SIDE_CHANNEL: Final = "VLLM_NIXL_SIDE_CHANNEL_HOST"
"""vLLM's variable of the address that NIXL advertises."""
WATCHED: Final = frozenset(
    {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", SIDE_CHANNEL, "VLLM_TARGET_DEVICE"}
)
"""Variables whose values are read."""
ROUTING_PROXY: Final = "routing-proxy"
"""Name of the sidecar container, as in llm-d's charts."""
_PROXIES: Final = frozenset(
    row.sidecar.image.rpartition("/")[2].partition(":")[0] for row in PICKERS.values() if row.sidecar
)
"""Names of the images that the sidecar has had, without the registry, which operators replace."""
_SIDECARS: Final = ("-routing-sidecar", "-disagg-sidecar")
"""How the names of llm-d's images end, also of mirrors."""
_OF_ENGINES: Final = frozenset({"vllm-port", "model-server-port"})
"""Flags of its sidecars for the engine's port (`pkg/sidecar/proxy/options.go` of llm-d's router)."""
_OF_PROXIES: Final = frozenset({"port", "connector", "kv-connector"})
"""Flags of which a proxy has one too: other programs ask the engine for metrics, at its port."""
_FABRIC: Final = re.compile(r"(?i)gb[23]00|nvl\d\d|nvidia\.com/gpu\.clique")
"""Labels of nodes that NVLink joins (NVIDIA GPU feature discovery: `gpu.product`, `gpu.clique`)."""
_CHANNEL: Final = re.compile(r"(?i)imex|channel|compute-?domain")
"""Names of claims by which NVLink joins the nodes of a group (NVIDIA's DRA driver: ComputeDomain)."""
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_CALLED: Final = re.compile(r"--vllm-port=(82[0-9]{2})")
_LISTS: Final = ("env", "volumeMounts", "ports")
_MAPS: Final = ("resources", "lifecycle", "securityContext")
_VARIABLE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


def read_container(container: Object, index: int, path: str, errors: list[FieldError]) -> Engine:
    """Read a container as the engine; append a field of the wrong type to `errors`."""
    command = _tokens(container, "command", path, errors)
    args = _tokens(container, "args", path, errors)
    env, mounts, ports = ([*map(mapping, listed(container.get(key)))] for key in _LISTS)
    resources, lifecycle, security = (mapping(container.get(key)) for key in _MAPS)
    limits, requests = (mapping(resources.get(key)) for key in ("limits", "requests"))
    names = strings([variable.get("name") for variable in env])
    numbers = [(item["containerPort"], item) for item in ports if type(item.get("containerPort")) is int]
    kept = {key: security[key] for key in SECURITY if key in security}
    hooks = [_probe(field, lifecycle[field]) for field in HOOKS if mapping(lifecycle.get(field))]
    return Engine(
        container=container["name"],
        image=text(container.get("image")),
        command=command,
        args=args,
        accelerators=accelerators.read(resources, f"{path}.resources", errors),
        variables=_variables(command + args, env),
        env=names,
        ports=tuple([(port, text(item.get("protocol")) or "TCP") for port, item in numbers]),
        http=next((number(item.get("containerPort")) for item in ports if item.get("name") == "http"), 0),
        mounts=strings([mount.get("mountPath") for mount in mounts]),
        probes=tuple([_probe(field, container[field]) for field in PROBES if container.get(field)]),
        hooks=tuple([hook for hook in hooks if hook.handler in CALLS]),
        pull_policy=text(container.get("imagePullPolicy")),
        security=json.dumps(kept, sort_keys=True) if kept else "",
        values=() if WATCHED.isdisjoint(names) else tuple(_watched(env)),
        extended=Later(partial(accelerators.unknown, limits, requests)),
        memory_limit=bytes_of(limits["memory"]) if "memory" in limits else 0,
        index=index,
        model_mounts=tuple(
            [text(mount.get("mountPath")) for mount in mounts if mount.get("name") == MODEL_VOLUME]
        ),
    )


def _watched(env: list[Object]) -> Iterator[tuple[str, str]]:
    for item in env:
        if text(item.get("name")) in WATCHED and "valueFrom" not in item:
            yield item["name"], text(item.get("value"))


def _tokens(container: Object, field: str, path: str, errors: list[FieldError]) -> tuple[str, ...]:
    value = container.get(field)
    if value is None:
        return ()
    if not isinstance(value, list):
        errors.append(FieldError(f"{path}.{field}", value, "must be a list of strings", "FI108"))
        return ()
    for index, item in enumerate(value):
        if not isinstance(item, str):
            errors.append(FieldError(f"{path}.{field}[{index}]", item, "must be a string; quote it", "FI108"))
    return strings(value)


def _variables(tokens: tuple[str, ...], env: list[Object]) -> tuple[tuple[str, str | None], ...]:
    """Return the variables that a command refers to as `$(X)`; None for a value that is not literal."""
    named = {name for token in tokens if "$(" in token for name in _VARIABLE.findall(token)}
    if not named:
        return ()
    literal = {text(entry.get("name")): text(entry.get("value")) for entry in env if "valueFrom" not in entry}
    return tuple(sorted((name, literal.get(name)) for name in named))


def _probe(field: str, value: Any) -> Probe:
    probe = mapping(value)
    handler = next((name for name in HANDLERS if name in probe), "")
    call = mapping(probe.get(handler))
    port = call.get("port", 0)
    return Probe(field, handler, port if isinstance(port, int | str) else 0, text(call.get("path")))


# --- the ports of a pod ------------------------------------------------------------------------------


def read_ports(spec: Object, path: str, engine: Engine | None) -> Ports:
    """Read the ports of all containers, and the named ports of the engine."""
    containers = list(containers_of(spec))
    own = (f"{path}.{where}" for where, container in containers if container.get("name") == ROUTING_PROXY)
    taken = {port for _, container in containers for port, _ in _named_ports(container)}
    engines = (
        container for _, container in containers if engine and container.get("name") == engine.container
    )
    named = tuple((name, port) for container in engines for port, name in _named_ports(container) if name)
    return Ports(tuple(sorted(taken)), named, next(own, ""), _behind(spec))


def _behind(spec: Object) -> int:
    """Return the port at which a sidecar as admission writes it calls the engine; 0 if there is none."""
    proxy = _prepares(spec, ROUTING_PROXY)
    called = _CALLED.fullmatch("".join(strings(proxy.get("args"))[1:2]))
    is_ours = _image_name(proxy) in _PROXIES and proxy.get("restartPolicy") == "Always"
    return int(called[1]) if is_ours and called else 0


def generation_of(spec: Object) -> str:
    """Return the endpoint picker generation of a pod's routing sidecar; empty without a known one."""
    return SIDECARS.get(release_of(text(_prepares(spec, ROUTING_PROXY).get("image"))), "")


def own_download(spec: Object) -> tuple[str, ...] | None:
    """Return the arguments of an author's own init container that downloads the model; None without one."""
    own = _prepares(spec, INITIALIZER)
    return strings(own.get("args")) if own else None


def _prepares(spec: Object, name: str) -> Object:
    """Return the first init container of a name; empty without one."""
    named = (item for item in map(mapping, listed(spec.get("initContainers"))) if item.get("name") == name)
    return next(named, EMPTY)


def _image_name(container: Object) -> str:
    return text(container.get("image")).partition("@")[0].rpartition("/")[2].partition(":")[0]


def proxied_port(spec: Object) -> int:
    """Return the port of an author's own routing sidecar, by its name, image or flags; 0 if there is none."""
    asked = ((item, _flags(item)) for _, item in containers_of(spec))
    own = (flags for item, flags in asked if item.get("name") == ROUTING_PROXY or _is_proxy(item, flags))
    flags = next(own, None)
    if flags is None:
        return 0
    value = flags.get("port", "")
    port = int(value) if value.isdecimal() and len(value) < 10 else 0
    return port if 0 < port <= HIGHEST else DEFAULT_PORT


def _flags(container: Object) -> dict[str, str]:
    """Return the flags of a program of Go, which has them with one dash or two, each with its last value."""
    words = [*strings(container.get("command")), *strings(container.get("args"))]
    flags = {}
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, sign, value = word.partition("=")
        if word.startswith("-"):
            flags[name.lstrip("-")] = value if sign else following
    return flags


def _is_proxy(container: Object, flags: Mapping[str, str]) -> bool:
    is_asked = not _OF_ENGINES.isdisjoint(flags) and not _OF_PROXIES.isdisjoint(flags)
    return _image_name(container).endswith(_SIDECARS) or is_asked


def _named_ports(container: Object) -> Iterator[tuple[int, str]]:
    for item in listed(container.get("ports")):
        port = mapping(item).get("containerPort")
        if type(port) is int:
            yield port, text(mapping(item).get("name"))


# --- what a pod requires -----------------------------------------------------------------------------


def on_fabric(spec: Object) -> bool:
    """Return whether claims, node selector or required affinity of a pod name nodes that NVLink joins."""
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    nodes = (spec.get("nodeSelector"), affinity.get(REQUIRED))
    claims = map(mapping, listed(spec.get("resourceClaims")))
    names = [f"{claim.get('name')} {claim.get('resourceClaimTemplateName')}" for claim in claims]
    return any(map(_CHANNEL.search, names)) or any(_FABRIC.search(str(term)) for term in nodes if term)


def lacking(spec: Object, others: Collection[str] = ()) -> Iterator[tuple[str, str, str]]:
    """Yield what containers use and the pod lacks: the path below the spec, the name, and the code.

    Volumes (FI331; `others` are those that the pod gets from elsewhere), claims of DRA (FI338), and images
    (FI332), which have no name. A LeaderWorkerSet may break these rules, which no schema has, and so may its
    StatefulSets, which then create no pods. Source: Kubernetes v1.35.4
    `pkg/apis/core/validation/validation.go`: `ValidateVolumeMounts`, `ValidateVolumeDevices`,
    `validateContainerCommon`, `validateResourceClaimNames`.
    """
    volumes = {*others, *(text(mapping(volume).get("name")) for volume in listed(spec.get("volumes")))}
    claims = {text(mapping(entry).get("name")) for entry in listed(spec.get("resourceClaims"))}
    for path, container in containers_of(spec):
        for field in ("volumeMounts", "volumeDevices"):
            for index, mount in enumerate(listed(container.get(field))):
                name = text(mapping(mount).get("name"))
                if name and name not in volumes:
                    yield f"{path}.{field}[{index}].name", name, "FI331"
        for index, claim in enumerate(listed(mapping(container.get("resources")).get("claims"))):
            name = text(mapping(claim).get("name"))
            if name and name not in claims:
                yield f"{path}.resources.claims[{index}].name", name, "FI338"
        if container.get("image") in (None, ""):
            yield f"{path}.image", "", "FI332"
