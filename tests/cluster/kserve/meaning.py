"""What objects mean, whoever made them, as named facts: two systems are compared fact by fact.

A fact of a pod starts with its workload and place: `prefill leader: env HOME`. Names that follow from the
system, such as those of its objects and labels, are no facts; the pods that they select are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import yaml

from intent import Object
from intent.container import ROUTING_PROXY
from intent.model import INITIALIZER, MODELS
from intent.shapes import listed, mapping, text

Facts = Mapping[str, Any]
Arguments = Callable[[Object], list[str]]
"""Returns the arguments that the engine of a container gets."""
ENGINE: Final = "main"
SIDECARS: Final = ("llm-d-routing-sidecar", ROUTING_PROXY)
"""The names of the routing sidecar of decoders."""
EXPLICIT: Final = frozenset(
    {
        *(
            "terminationMessagePath",
            "terminationMessagePolicy",
            "imagePullPolicy",
            "dnsPolicy",
            "schedulerName",
        ),
        *("restartPolicy", "serviceAccount"),
    }
)
"""Fields whose defaults the API server writes out, or that say the same as another one."""
DEFAULTS: Final[Mapping[str, Any]] = {
    "protocol": "TCP",
    "defaultMode": 420,
    "successThreshold": 1,
    "timeoutSeconds": 1,
    "failureThreshold": 3,
    "periodSeconds": 10,
    "scheme": "HTTP",
    "apiVersion": "v1",
    "weight": 1,
    "group": "gateway.networking.k8s.io",
}
"""Values that the API server writes out where a field is absent."""
AUTOSCALERS: Final = ("HorizontalPodAutoscaler", "ScaledObject", "VariantAutoscaling")
LOADED: Final = (MODELS, "/mnt/lora/")
"""Where files of models are mounted."""


def facts(objects: Sequence[Object], arguments: Arguments) -> dict[str, Any]:
    """Return the facts of all objects of one service."""
    pods = {place: pod for one in objects for place, pod in _pods(one)}
    return {
        name: value
        for found in (
            *(_sizes(objects), _of_scaling(objects), _of_pods(pods, arguments)),
            *(_of_routes(objects), _of_pools(objects, pods)),
        )
        for name, value in found
    }


def role(obj: Object) -> str:
    """Return whether a workload is for prefill; the other one of a service is its main one."""
    return "prefill" if obj["metadata"]["name"].endswith("prefill") else "main"


def is_workload(obj: Object) -> bool:
    """Return whether pods of an object run engines."""
    return obj["kind"] == "LeaderWorkerSet" or (
        obj["kind"] == "Deployment" and _labels(obj).get("kserve.io/component") == "workload"
    )


def _sizes(objects: Sequence[Object]) -> Iterator[tuple[str, Any]]:
    for one in filter(is_workload, objects):
        yield f"{role(one)}: replicas", one["spec"].get("replicas", 1)
        yield f"{role(one)}: pods of a group", _group(one)


def _of_scaling(objects: Sequence[Object]) -> Iterator[tuple[str, Any]]:
    """Yield what scales a workload: the fields of each autoscaler but the name of its target."""
    for one in (one for one in objects if one["kind"] in AUTOSCALERS):
        workload = "prefill" if one["spec"]["scaleTargetRef"]["name"].endswith("prefill") else "main"
        for key in sorted(one["spec"].keys() - {"scaleTargetRef"}):
            yield f"{workload}: {one['kind']} {key}", _plain(one["spec"][key])


def _plain(value: Any) -> Any:
    """Return a value with the policies that the API server writes out left out."""
    if isinstance(value, dict):
        return {key: _plain(below) for key, below in value.items() if (key, below) != ("selectPolicy", "Max")}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _group(obj: Object) -> int:
    return int(mapping(obj["spec"].get("leaderWorkerTemplate")).get("size", 1))


def _pods(obj: Object) -> Iterator[tuple[str, Object]]:
    """Yield the pod templates that pods are made from, with their places."""
    if not is_workload(obj):
        return
    groups = mapping(obj["spec"].get("leaderWorkerTemplate"))
    yield (
        f"{role(obj)} leader",
        groups.get("leaderTemplate") or groups.get("workerTemplate") or obj["spec"]["template"],
    )
    if _group(obj) > 1:
        yield f"{role(obj)} worker", groups["workerTemplate"]


def _labels(obj: Object) -> Object:
    return mapping(mapping(obj.get("metadata")).get("labels"))


# --- pods ---------------------------------------------------------------------------------------------


def _of_pods(pods: Mapping[str, Object], arguments: Arguments) -> Iterator[tuple[str, Any]]:
    for place, pod in pods.items():
        for name, value in _of_pod(pod, arguments):
            yield f"{place}: {name}", value


def _of_pod(pod: Object, arguments: Arguments) -> Iterator[tuple[str, Any]]:
    spec = pod["spec"]
    for name, value in mapping(mapping(pod.get("metadata")).get("annotations")).items():
        yield f"annotation {name}", value
    yield from _models(spec)
    for one in listed(spec.get("initContainers")):
        if one["name"] in SIDECARS:
            yield "sidecar: image", one["image"]
            words = [text(word) for key in ("command", "args") for word in listed(one.get(key)) if word]
            yield from ((f"sidecar: argument {flag}", value) for flag, value in flags(words).items())
        elif one["name"] != INITIALIZER:
            yield f"init container {one['name']}", one["image"]
    for one in spec["containers"]:
        yield from _of_container(one, "" if one["name"] == ENGINE else f"{one['name']} ", arguments)
    mounted = {mount["name"] for one in spec["containers"] for mount in listed(one.get("volumeMounts"))}
    for volume in listed(spec.get("volumes")):
        if volume["name"] in mounted and not _is_loaded(volume["name"], spec):
            source = {key: value for key, value in volume.items() if key != "name"}
            yield f"volume {volume['name']}", _short(source)
    for key in sorted(spec.keys() - {"containers", "initContainers", "volumes"} - EXPLICIT):
        if spec[key] != {}:
            yield f"pod {key}", _short(spec[key])


def _is_loaded(name: str, spec: Object) -> bool:
    """Return whether a volume holds files of models only."""
    paths = [
        mount["mountPath"]
        for one in spec["containers"]
        for mount in listed(one.get("volumeMounts"))
        if mount["name"] == name
    ]
    return all(path.startswith(LOADED) for path in paths)


def _models(spec: Object) -> Iterator[tuple[str, Any]]:
    """Yield where the files of a model, and of adapters, come from, by the path where the engine has them."""
    for one in listed(spec.get("initContainers")):
        if one["name"] == INITIALIZER:
            words = [text(word) for word in listed(one.get("args"))]
            yield from ((f"model at {path}", uri) for uri, path in zip(words[::2], words[1::2], strict=False))
            for variable in listed(one.get("env")):
                yield f"download: env {variable['name']}", _short(_value(variable))
            yield from _resources(one, "download: ")
    engine: Object = next((one for one in spec["containers"] if one["name"] == ENGINE), {})
    volumes = {one["name"]: one for one in listed(spec.get("volumes"))}
    for mount in listed(engine.get("volumeMounts")):
        volume = volumes.get(mount["name"], {})
        source = volume.get("persistentVolumeClaim") or volume.get("image")
        if mount["mountPath"].startswith(LOADED) and source:
            where = source.get("claimName") or source.get("reference")
            yield f"model at {mount['mountPath']}", f"{where}/{mount.get('subPath', '')}".rstrip("/")


def _of_container(container: Object, name: str, arguments: Arguments) -> Iterator[tuple[str, Any]]:
    yield f"{name}image", container.get("image")
    if not name:
        yield from ((f"argument {flag}", value) for flag, value in flags(arguments(container)).items())
    else:
        yield f"{name}command", [*listed(container.get("command")), *listed(container.get("args"))]
    for port in listed(container.get("ports")):
        yield f"{name}port {port['containerPort']}", _short(port)
    for variable in listed(container.get("env")):
        yield f"{name}env {variable['name']}", _short(_value(variable))
    for mount in listed(container.get("volumeMounts")):
        if not mount["mountPath"].startswith(LOADED):
            yield f"{name}mount {mount['mountPath']}", _short(mount)
    yield from _resources(container, name)
    for key in (
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
        "securityContext",
        "workingDir",
    ):
        if key in container:
            yield f"{name}{key}", _short(container[key])


def _resources(container: Object, name: str) -> Iterator[tuple[str, Any]]:
    for kind, amounts in mapping(container.get("resources")).items():
        if isinstance(amounts, dict):
            yield from ((f"{name}{kind} {key}", str(value)) for key, value in amounts.items())


def _value(variable: Object) -> Any:
    return variable["valueFrom"] if "valueFrom" in variable else variable.get("value", "")


def _short(value: Any) -> Any:
    """Return a value without what the API server writes out."""
    if isinstance(value, dict):
        return {
            key: _short(below)
            for key, below in value.items()
            if below is not None and not (key in DEFAULTS and DEFAULTS[key] == below)
        }
    return [_short(one) for one in value] if isinstance(value, list) else value


def flags(arguments: list[str]) -> dict[str, tuple[str, ...]]:
    """Return arguments by flag; those before the first flag are of the empty one."""
    found: dict[str, tuple[str, ...]] = {"": ()}
    name = ""
    for word in arguments:
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            name = flag.replace("_", "-")
            found[name] = (value,) if equals else ()
        else:
            found[name] = (*found[name], word)
    return found


# --- routes -------------------------------------------------------------------------------------------


def _of_routes(objects: Sequence[Object]) -> Iterator[tuple[str, Any]]:
    routes = [one for one in objects if one["kind"] == "HTTPRoute"]
    pools = {one["metadata"]["name"] for one in objects if one["kind"] == "InferencePool"}
    for route in routes:
        yield "route: parents", [_short(one) for one in listed(route["spec"].get("parentRefs"))]
        if listed(route["spec"].get("hostnames")):
            yield "route: hostnames", route["spec"]["hostnames"]
        for number, rule in enumerate(listed(route["spec"].get("rules"))):
            name = f"rule {rule.get('name', number)}"
            yield f"{name}: backends", [_backend(one, pools) for one in listed(rule.get("backendRefs"))]
            yield f"{name}: matches", [_match(one) for one in rule.get("matches") or [{}]]
            yield f"{name}: filters", _short(listed(rule.get("filters")))
            yield f"{name}: timeouts", mapping(rule.get("timeouts"))


def _backend(backend: Object, pools: set[str]) -> tuple[str, int]:
    """Return the target of a backend, and its weight: the pool, the service's pods, or another object."""
    name, weight = backend["name"], backend.get("weight", 1)
    if backend.get("kind") == "InferencePool":
        return ("the pool" if name in pools else name), weight
    of_service = name.endswith(("-kserve-workload-svc", "-api"))
    return ("the pods" if of_service else f"Service {name}"), weight


def _match(match: Object) -> Object:
    """Return a match with the path that it has by default."""
    return {**_short(match), "path": match.get("path") or {"type": "PathPrefix", "value": "/"}}


def _of_pools(objects: Sequence[Object], pods: Mapping[str, Object]) -> Iterator[tuple[str, Any]]:
    for pool in (one for one in objects if one["kind"] == "InferencePool"):
        wanted = pool["spec"]["selector"]["matchLabels"].items()
        yield (
            "pool: pods",
            sorted(place for place, pod in pods.items() if wanted <= _with_index(pod, place).items()),
        )
        yield "pool: ports", [one["number"] for one in pool["spec"]["targetPorts"]]
    for config, replicas in _pickers(objects):
        yield "picker: replicas", replicas
        yield "picker: plugins", sorted(_plugin(one) for one in listed(config.get("plugins")))
        for profile in listed(config.get("schedulingProfiles")):
            found = [(one["pluginRef"], one.get("weight")) for one in listed(profile.get("plugins"))]
            yield f"picker: profile {profile.get('name')}", sorted(found, key=str)


def _with_index(pod: Object, place: str) -> Object:
    """Return the labels of a pod with the one that LWS adds to leaders."""
    index = {"leaderworkerset.sigs.k8s.io/worker-index": "0"} if place.endswith("leader") else {}
    return {**_labels(pod), **index}


def _plugin(plugin: Object) -> str:
    return str(plugin.get("name") or plugin.get("type"))


def _pickers(objects: Sequence[Object]) -> Iterator[tuple[Object, int]]:
    """Yield the configuration of each endpoint picker, with its replicas."""
    maps = {
        one["metadata"]["name"]: mapping(one.get("data")) for one in objects if one["kind"] == "ConfigMap"
    }
    for one in objects:
        if one["kind"] != "Deployment" or is_workload(one):
            continue
        spec = one["spec"]["template"]["spec"]
        for container in spec["containers"]:
            words = [*listed(container.get("command")), *listed(container.get("args"))]
            if "--config-text" in words:
                yield _read(words[words.index("--config-text") + 1]), one["spec"].get("replicas", 1)
        for volume in listed(spec.get("volumes")):
            for written in maps.get(text(mapping(volume.get("configMap")).get("name")), {}).values():
                yield _read(written), one["spec"].get("replicas", 1)


def _read(config: str) -> Object:
    return mapping(yaml.safe_load(config))
