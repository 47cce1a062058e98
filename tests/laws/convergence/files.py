"""Random files of authors, as values that render to manifests, and the changes that authors make to them."""

from dataclasses import dataclass, field, fields, replace
from random import Random
from typing import Any, Final

import orjson

from intent import Object

PREFIX: Final = "fusioninfer.io/"
SHM: Final = "/dev/shm"  # noqa: S108 - a path in a container
IMAGES: Final = (
    "vllm/vllm-openai:v0.17.1",
    "vllm/vllm-openai:v0.10.2",
    "vllm/vllm-openai:v0.11.0",
    "vllm/vllm-openai:v0.20.2",
    "corp/llm:1",
)
SGLANG: Final = "lmsysorg/sglang:v0.5.6"
MODELS: Final = ("org/M1", "org/M2")
GPUS: Final = 8
_HTTP: Final = {"path": "/health", "port": 8000}
PROBES: Final[dict[str, Object]] = {
    "readinessProbe": {"httpGet": _HTTP, "periodSeconds": 5},
    "livenessProbe": {"httpGet": _HTTP, "initialDelaySeconds": 0},
    "startupProbe": {"tcpSocket": {"port": 8000}, "failureThreshold": 100},
}
VOLUMES: Final[dict[str, tuple[Object, str]]] = {
    "models": ({"emptyDir": {}}, "/models"),
    "cache": ({"persistentVolumeClaim": {"claimName": "cache"}}, "/root/.cache"),
    "dshm": ({"emptyDir": {"medium": "Memory"}}, SHM),
    "memory": ({"emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}, SHM),
    "files": ({"persistentVolumeClaim": {"claimName": "files"}}, "/mnt/models"),
    "fusioninfer-model": ({"emptyDir": {"sizeLimit": "9Gi"}}, "/mnt/models"),
    "fusioninfer-lora": ({"emptyDir": {"sizeLimit": "2Gi"}}, "/mnt/lora/law"),
}
"""Volumes by name: their source, and where the engine mounts them. The author may bring those that we add."""
ADAPTERS: Final = (
    "",
    "sql=hf://org/sql",
    "sql=pvc://files/sql,law=s3://bucket/law,maxRank=64",
    "sql=s3://bucket/sql",
    "sql=oci://registry/sql,law=hf://org/law:v1,maxCpuAdapters=4",
)
PARALLELISM: Final = (
    "",
    "tensor=8,pipeline=2",
    "tensor=16,expert",
    "tensor=4,data=4,dataLocal=2",
    "pipeline=2,dataRPCPort=6000",
)
SOURCES: Final = ("", "hf://org/M1", "hf://org/M2:v1", "pvc://files/m", "s3://bucket/m", "oci://registry/m")


@dataclass(frozen=True, slots=True)
class Pod:
    """The engine's pod of one template."""

    image: str = IMAGES[0]
    form: str = "list"
    model: str = MODELS[0]
    length: int = 4096
    extra: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    probes: tuple[str, ...] = ()
    hook: bool = False
    volumes: tuple[str, ...] = ()
    sidecar: bool = False
    init: bool = False
    note: str = ""
    node_selector: str = ""
    toleration: bool = False
    scheduler: str = ""
    name: str = "vllm"


@dataclass(frozen=True, slots=True)
class File:
    """The file of an author: one LeaderWorkerSet."""

    worker: Pod = field(default_factory=Pod)
    leader: Pod | None = None
    size: int = 2
    replicas: int | None = 1
    spread: bool = False
    """Whether the pods are pipeline stages; else one tensor-parallel group spans them."""
    launcher: str = ""
    skip: str = ""
    component: str = ""
    role: str = ""
    source: str = ""
    """The URI of the model; then the arguments need not name it."""
    named: bool = False
    """Whether the arguments name it nevertheless."""
    served: str = ""
    token: str = ""
    cache: str = ""
    """Where the model is kept."""
    priority: str = ""
    lora: str = ""
    """LoRA adapters."""
    parallelism: str = ""
    """The parallel sizes as an annotation; then the arguments need not have them."""
    sized: bool = False
    """Whether the arguments have them nevertheless."""
    requested: bool = True
    """Whether the engine requests accelerators."""
    refs: str = ""
    """The names of templates."""
    refresh: str = ""
    zeros: bool = False
    """Whether the author writes `0` and `[]`, which win over templates."""
    thin: bool = False
    """Whether ports are left to templates."""
    empty: bool = False
    """Whether the author writes maps without fields, such as `labels: {}` and `securityContext: {}`."""
    opted_in: bool = True
    exported: str = ""
    """The manifest as JSON, if the author exported the stored object as the file (`EXPORT`)."""


# --- rendering ------------------------------------------------------------------------------------------


def manifest(file: File) -> Object:
    """Return the manifest of a file."""
    if file.exported:
        found: Object = orjson.loads(file.exported)
        return found
    keys = {
        "service": "svc",
        "launcher": file.launcher,
        "skip": file.skip,
        "component-type": file.component,
        "role-name": file.role,
        "strategy": "pd-disaggregation" if file.component == "decoder" else "",
        "model": file.source,
        "model-name": file.served,
        "model-secret": file.token,
        "model-cache": file.cache,
        "priority": file.priority,
        "lora": file.lora,
        "parallelism": file.parallelism,
        "base-refs": file.refs,
        "refresh": file.refresh,
    }
    ours = {PREFIX + key: value for key, value in keys.items() if value} if file.opted_in else {}
    group: Object = {"size": file.size, "workerTemplate": _template(file, file.worker)}
    if file.leader:
        group["leaderTemplate"] = _template(file, file.leader)
    spec: Object = {"leaderWorkerTemplate": group}
    if file.replicas is not None:
        spec["replicas"] = file.replicas
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "x", "namespace": "llm", "annotations": {"team": "a", **ours}},
        "spec": spec,
    }


def _template(file: File, pod: Pod) -> Object:
    engine: Object = {"name": pod.name, "image": pod.image, **_words(file, pod)}
    limits = {"nvidia.com/gpu": str(GPUS)} if file.requested else {}
    engine["resources"] = {"limits": {**limits, "memory": "64Gi"}}
    engine |= {} if file.thin else {"ports": [{"containerPort": 8000, "name": "http"}]}
    if pod.env:
        engine["env"] = [{"name": name, "value": value} for name, value in pod.env]
    engine |= {name: PROBES[name] for name in pod.probes}
    if pod.hook:
        engine["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", "5"]}}}
    zeros = {"tolerations": [], "terminationGracePeriodSeconds": 0} if file.zeros else {}
    spec: Object = {"containers": [engine], **zeros}
    if pod.volumes:
        spec["volumes"] = [{"name": name, **VOLUMES[name][0]} for name in pod.volumes]
        engine["volumeMounts"] = [{"name": name, "mountPath": VOLUMES[name][1]} for name in pod.volumes]
    if pod.sidecar:
        spec["containers"].append({"name": "proxy", "image": "envoy:v1"})
    if pod.init:
        mounts = [one for one in engine.get("volumeMounts", ()) if one["mountPath"] != SHM]
        spec["initContainers"] = [{"name": "download", "image": "busybox:1", "volumeMounts": mounts}]
    if pod.node_selector:
        spec["nodeSelector"] = {"pool": pod.node_selector}
    if pod.toleration:
        spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    if pod.scheduler:
        spec["schedulerName"] = pod.scheduler
    template: Object = {"spec": spec}
    if pod.note:
        template["metadata"] = {"annotations": {"note": pod.note}}
    return _with_empty(template) if file.empty else template


def _with_empty(template: Object) -> Object:
    """Add maps without fields."""
    spec = template["spec"]
    template.setdefault("metadata", {})["labels"] = {}
    spec["securityContext"] = {}
    spec.setdefault("nodeSelector", {})
    return template


def _words(file: File, pod: Pod) -> Object:
    is_named = file.named or not file.source
    is_sized = file.sized or not file.parallelism
    of_vllm = ("-tp", str(GPUS), "-pp", str(file.size)) if file.spread else ("-tp", str(GPUS * file.size))
    sizes = of_vllm if is_sized else ()
    flags = (*sizes, "--max-model-len", str(pod.length), *pod.extra)
    if pod.image == SGLANG:
        sizes = ("--tp", str(GPUS * file.size)) if is_sized else ()
        flags = (*sizes, "--context-length", str(pod.length), *pod.extra)
        return {
            "command": ["python3", "-m", "sglang.launch_server"],
            "args": [*(("--model-path", pod.model) if is_named else ()), *flags],
        }
    model, flag = ((pod.model,), ("--model", pod.model)) if is_named else ((), ())
    text = " ".join(("vllm", "serve", *model, *flags))
    forms: dict[str, Object] = {
        "list": {"command": ["vllm", "serve"], "args": [*model, *flags]},
        "args": {"args": [*flag, *flags]},
        "command": {"command": ["vllm", "serve", *model, *flags]},
        "module": {
            "command": ["python3", "-m", "vllm.entrypoints.openai.api_server"],
            "args": [*flag, *flags],
        },
        "shell": {"command": ["sh", "-c"], "args": [text]},
        "script": {"command": ["sh", "-c", f"sleep 1; exec {text}"]},
        "serve": {"command": ["vllm", "serve"], "args": [*flag, *flags]},
        "by hand": {
            "command": ["ray", "symmetric-run"],
            "args": ["--address", "$(LWS_LEADER_ADDRESS):6400", "--min-nodes", "2", "--", *text.split()],
        },
    }
    return forms[pod.form]


# --- changes ----------------------------------------------------------------------------------------------

SETS: Final = (
    (),
    ("models",),
    ("models", "cache"),
    ("dshm",),
    ("models", "dshm"),
    ("memory",),
    ("cache", "models"),
    ("files",),
    ("fusioninfer-model", "models"),
    ("models", "fusioninfer-lora"),
)
POD_CHANGES: Final[dict[str, tuple[Any, ...]]] = {
    "image": (*IMAGES, SGLANG),
    "model": MODELS,
    "form": ("list", "args", "command", "module", "shell", "script"),
    "length": (4096, 8192, 16384),
    "extra": ((), ("--enable-prefix-caching",), ("--enforce-eager", "--seed", "7")),
    "env": (
        (),
        (("HF_HOME", "/models"),),
        (("HF_HOME", "/cache"), ("LOG", "debug")),
        (("LOG", "debug"), ("HF_HOME", "/models")),
        (("VLLM_HOST_IP", "10.0.0.1"),),
        (("HF_HOME", "/model-cache"), ("HF_TOKEN", "mine")),
    ),
    "probes": (
        (),
        ("readinessProbe",),
        ("livenessProbe", "readinessProbe"),
        ("readinessProbe", "startupProbe"),
    ),
    "hook": (False, True),
    "volumes": SETS,
    "sidecar": (False, True),
    "init": (False, True),
    "note": ("", "one", "two"),
    "node_selector": ("", "a", "b"),
    "toleration": (False, True),
    "scheduler": ("", "", "volcano", "mine"),
    "name": ("vllm", "vllm", "engine"),
}
"""Fields of both templates, with the values that authors write; frequent ones are repeated."""
FILE_CHANGES: Final[dict[str, tuple[Any, ...]]] = {
    "size": (1, 2, 2, 3, 4),
    "replicas": (None, 1, 2, 3),
    "spread": (False, True),
    "launcher": ("", "auto", "ray-symmetric", "ray-start", "vllm-native", "none"),
    "skip": ("", "shm", "env", "probes", "port,dns", "gang"),
    "component": ("", "worker", "prefiller", "decoder"),
    "role": ("", "first", "second"),
    "source": SOURCES,
    "named": (False, False, True),
    "served": ("", "chat"),
    "token": ("", "keys"),
    "cache": ("", "", "5Gi", "download"),
    "priority": ("", "Critical", "-5"),
    "lora": ADAPTERS,
    "parallelism": PARALLELISM,
    "sized": (False, False, True),
    "requested": (True, False),
    "opted_in": (False, True),
}
TEMPLATE_CHANGES: Final[dict[str, tuple[Any, ...]]] = {
    "refs": ("", "base", "base", "base,more", "more,base"),
    "refresh": ("", "1", "2"),
    "zeros": (False, True),
    "thin": (False, True),
    "empty": (True,),
}
"""Fields that only sequences with templates change (`templates`)."""
LEADER: Final = "leader template"
EXPORT: Final = "export"
"""The author exports the expanded object without our annotations, and writes it as the file from now on."""
LEADERS: Final = ("none", "same", "other")
CHANGES: Final = (
    *POD_CHANGES,
    *FILE_CHANGES,
    LEADER,
    "leader " + "env",
    "leader " + "length",
    "worker " + "env",
)
WEIGHTS: Final = {
    "opted_in": 3,
    "source": 3,
    "lora": 3,
    "parallelism": 3,
    LEADER: 3,
    "launcher": 2,
    "image": 2,
    "model": 2,
    "volumes": 2,
    "probes": 2,
}


def changed(file: File, name: str, value: Any) -> File:
    """Return the file with one change, made to the author's own file if the last one was exported.

    It is the same file if the change does not apply.
    """
    file = replace(file, exported="")
    if name == LEADER:
        other = replace(file.worker, node_selector="c", probes=("readinessProbe",), volumes=("models",))
        return replace(file, leader={"none": None, "same": file.worker, "other": other}[value])
    if name in FILE_CHANGES or name in TEMPLATE_CHANGES:
        return replace(file, **{name: value})
    part, _, field_name = name.rpartition(" ")
    if part == "leader":
        return replace(file, leader=replace(file.leader, **{field_name: value})) if file.leader else file
    worker = replace(file.worker, **{field_name: value})
    leader = replace(file.leader, **{field_name: value}) if file.leader and not part else file.leader
    return replace(file, worker=worker, leader=leader)


def exported(file: File, stored: Object) -> File:
    """Return the stored object as a file, without our annotations and the record."""
    kept = {
        key: value
        for key, value in stored["metadata"]["annotations"].items()
        if not key.startswith((PREFIX, "kubectl.kubernetes.io/"))
    }
    metadata = {"name": "x", "namespace": "llm", "annotations": kept}
    text = orjson.dumps(stored | {"metadata": metadata}).decode()
    return replace(file, exported=text, opted_in=False)


def draw_change(random: Random, file: File) -> tuple[str, Any]:
    """Draw a change that changes the file."""
    while True:
        [name] = random.choices(CHANGES, [WEIGHTS.get(one, 1) for one in CHANGES])
        value = random.choice(LEADERS if name == LEADER else _values(name))
        if changed(file, name, value) != file:
            return name, value


def _values(name: str) -> tuple[Any, ...]:
    return FILE_CHANGES.get(name) or POD_CHANGES[name.rpartition(" ")[2]]


def draw_file(random: Random) -> File:
    """Draw a file: the plain one with several changes, opted in or not."""
    file = File()
    for _ in range(random.randint(0, 9)):
        file = changed(file, *draw_change(random, file))
    return file if random.random() < 0.1 else replace(file, opted_in=True)


def described(file: File) -> dict[str, Any]:
    """Return the fields in which a file, or a pod of it, differs from the plain one."""
    return _differences(file, File()) | (
        {"leader": {} if file.leader == Pod() else _differences(file.leader, Pod())} if file.leader else {}
    )


def _differences(value: Any, plain: Any) -> dict[str, Any]:
    found = {}
    for one in fields(value):
        mine, other = getattr(value, one.name), getattr(plain, one.name)
        if one.name != "leader" and mine != other:
            found[one.name] = _differences(mine, other) if isinstance(mine, Pod) else mine
    return found


def simpler(file: File) -> list[File]:
    """Return files with one difference from the plain one less, to shrink a failing sequence."""
    plain = File()
    found = [replace(file, leader=None)] if file.leader else []
    found += [
        replace(file, **{one.name: getattr(plain, one.name)})
        for one in fields(File)
        if one.name not in ("worker", "leader") and getattr(file, one.name) != getattr(plain, one.name)
    ]
    for part in ("worker", "leader"):
        pod = getattr(file, part)
        found += [
            replace(file, **{part: replace(pod, **{one.name: getattr(Pod(), one.name)})})
            for one in (fields(Pod) if pod else ())
            if getattr(pod, one.name) != getattr(Pod(), one.name)
        ]
    return found
