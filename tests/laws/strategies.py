"""Strategies: LeaderWorkerSets as people write them, and the changes that Kubernetes' tools make to them."""

import copy
from typing import Any, Final

from hypothesis import strategies as st

from intent import Object
from intent.annotations import PARTS, SERVICE
from intent.tree import identity, is_keyed

NOISE: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab~/é", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text("xy~/", max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)
JSON: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)

COMMANDS: Final[tuple[Object, ...]] = (
    {"args": ["--model", "org/M", "--tensor-parallel-size", "16"]},
    {"command": ["vllm", "serve"], "args": ["org/M", "-tp", "8", "-pp", "2"]},
    {"command": ["vllm", "serve", "org/M", "--kv-transfer-config", '{"kv_role": "kv_both"}']},
    {"command": ["sh", "-c", "vllm serve $MODEL -tp 16 > log"]},
    {"command": ["python3", "-m", "vllm.entrypoints.openai.api_server"], "args": ["--model=org/M"]},
    {"command": ["python3", "-m", "sglang.launch_server"], "args": ["--model-path", "org/M", "--tp", "16"]},
    {"args": ["org/M", "--kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}']},
    {"command": ["sh", "-c", 'cd /; exec "$@"', "sh"], "args": ["vllm", "serve", "org/M", "-tp", "16"]},
    {"command": ["vllm", "serve", "-tp", "16", "--", "org/M"]},
    {"command": ["lmdeploy", "serve", "api_server"], "args": ["org/M", "--tp", "16"]},
    {"command": ["vllm", "serve", "org/M", "--port", "9000"]},
    {"args": ["org/M", "--port=8000"]},
    {"command": ["sh", "-c", "exec vllm serve org/M -tp 16"]},
    {"command": ["sleep"], "args": ["1"]},
    {"command": ["vllm", "serve"], "args": ["-tp", "16"]},
    {"args": ["-tp", "8", "-pp", "2"]},
)
IMAGES: Final = (
    "vllm/vllm-openai:v0.17.1",
    "vllm/vllm-openai:v0.10.2",
    "vllm/vllm-openai:v0.20.2",
    "corp/llm",
)
PROBED: Final[tuple[Object, ...]] = (
    {"httpGet": {"path": "/health", "port": 8000}},
    {"httpGet": {"path": "/health", "port": "http"}},
    {"tcpSocket": {"port": 9000}},
    {"exec": {"command": ["true"]}},
)
PROBES: Final = ("readinessProbe", "livenessProbe", "startupProbe")
VARIABLES: Final[tuple[Object, ...]] = (
    {"name": "MODEL", "value": "org/M"},
    {"name": "VLLM_HOST_IP", "value": "10.0.0.1"},
    {"name": "RAY_py_gcs_connect_timeout_s", "value": "60"},
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "token"}}},
)
HOOKS: Final[tuple[Object, ...]] = (
    {"preStop": {"exec": {"command": ["sleep", "5"]}}},
    {"preStop": {"httpGet": {"path": "/drain", "port": 8000}}},
    {"preStop": {"tcpSocket": {"port": 8000}}, "postStart": {"exec": {"command": ["true"]}}},
)
VOLUMES: Final[tuple[Object, ...]] = (
    {"name": "models", "emptyDir": {}},
    {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "15Gi"}},
    {"name": "dshm", "hostPath": {"path": "/models"}},
    {"name": "fusioninfer-model", "emptyDir": {"sizeLimit": "9Gi"}},
    {"name": "fusioninfer-lora", "emptyDir": {"sizeLimit": "2Gi"}},
)
DISAGGREGATES: Final = {
    "fusioninfer.io/component-type": "decoder",
    "fusioninfer.io/strategy": "pd-disaggregation",
}
MODELS: Final[tuple[dict[str, str], ...]] = (
    {"model": "hf://org/M"},
    {"model": "hf://org/M:v1", "model-secret": "keys", "model-cache": "5Gi"},
    {"model": "hf://org/M", "model-cache": "download"},
    {"model": "pvc://claim/a", "model-name": "chat"},
    {"model": "pvc+hf://claim/org/M"},
    {"model": "oci://registry/m"},
    {"model": "s3://bucket/m", "model-secret": "keys"},
    {"model": "gs://bucket/m", "model-secret": "keys"},
)
ADAPTERS: Final = (
    "sql=hf://org/sql",
    "sql=pvc://claim/sql,acme/law=oci://registry/law",
    "sql=s3://bucket/sql,law=hf://org/law:v1,maxRank=64,maxAdapters=1",
)
PARALLELISM: Final = (
    "tensor=8,pipeline=2",
    "tensor=16,expert",
    "data=4,dataLocal=2",
    "tensor=2,dataRPCPort=99",
)
LAUNCHERS: Final = ("ray-symmetric", "ray-start", "vllm-native", "sglang", "auto", "none")


@st.composite
def containers(draw: st.DrawFn, *, engine: bool) -> Object:
    """Draw a container: the engine, or one beside it."""
    item: Object = {
        "name": "vllm" if engine else "proxy",
        "image": draw(st.sampled_from(IMAGES)) if engine else "envoy",
    }
    if engine:
        item |= copy.deepcopy(draw(st.sampled_from(COMMANDS)))
        item["resources"] = {
            "limits": {"nvidia.com/gpu": draw(st.sampled_from([8, "8"])), "memory": "1024Mi"}
        }
    if draw(st.booleans()):
        item["ports"] = [{"containerPort": 8000, "name": "http"}]
    if draw(st.booleans()):
        item["env"] = draw(some(VARIABLES))
    if engine and draw(st.booleans()):
        probe = draw(st.sampled_from(PROBED))
        item |= {field: copy.deepcopy(probe) for field in draw(st.sets(st.sampled_from(PROBES)))}
    if engine and draw(st.integers(0, 3)) == 0:
        item["lifecycle"] = copy.deepcopy(draw(st.sampled_from(HOOKS)))
    if engine and draw(st.integers(0, 3)) == 0:
        path = draw(st.sampled_from(["/dev/shm", "/cache", "/mnt/models", "/mnt/lora/sql"]))  # noqa: S108 - a path in a container
        item["volumeMounts"] = [{"name": "dshm", "mountPath": path}]
    if draw(st.booleans()):
        item["x-unknown"] = draw(NOISE)
    return item


def some(items: tuple[Object, ...]) -> st.SearchStrategy[list[Object]]:
    """Draw some items of a list, each once by name."""
    chosen = st.lists(st.sampled_from(items), min_size=1, unique_by=lambda item: item["name"])
    return chosen.map(copy.deepcopy)


@st.composite
def templates(draw: st.DrawFn) -> Object:
    """Draw a pod template."""
    engine = draw(containers(engine=True))
    beside = [draw(containers(engine=False))] if draw(st.booleans()) else []
    template: Object = {"spec": {"containers": [*beside, engine]}}
    if draw(st.booleans()):
        template["metadata"] = draw(metadata())
    if draw(st.integers(0, 5)) == 0:
        template["spec"]["schedulerName"] = draw(st.sampled_from(["volcano", "mine"]))
    if draw(st.integers(0, 2)) == 0:
        template["spec"]["volumes"] = draw(some(VOLUMES))
    volumes = template["spec"].get("volumes", [])
    is_forgotten = draw(st.integers(0, 3)) == 0
    if "volumeMounts" in engine and not is_forgotten and all(one["name"] != "dshm" for one in volumes):
        template["spec"]["volumes"] = [*volumes, copy.deepcopy(VOLUMES[1])]
    if draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from(["download", "wait-for-leader", "routing-proxy", "storage-initializer"]))
        template["spec"]["initContainers"] = [{"name": name, "image": "busybox"}]
    if draw(st.integers(0, 5)) == 0:
        template["spec"]["hostIPC"] = True
    template["spec"]["x-unknown"] = draw(NOISE)
    return template


@st.composite
def metadata(draw: st.DrawFn) -> Object:
    """Draw the metadata of a template."""
    kinds = {"labels": {"app": "llm"}, "annotations": {"note": "a/b~c"}, "x-unknown": draw(NOISE)}
    return {key: value for key, value in kinds.items() if draw(st.booleans())}


@st.composite
def blocks(draw: st.DrawFn) -> dict[str, str]:
    """Draw the annotations of blocks, which add arguments to the engine's command."""
    found: dict[str, str] = {}
    if draw(st.integers(0, 2)) == 0:
        model = draw(st.sampled_from(MODELS))
        found |= {f"fusioninfer.io/{name}": value for name, value in model.items()}
    for name, values in (("lora", ADAPTERS), ("parallelism", PARALLELISM)):
        if draw(st.integers(0, 2)) == 0:
            found[f"fusioninfer.io/{name}"] = draw(st.sampled_from(values))
    return found


@st.composite
def leaderworkersets(draw: st.DrawFn) -> Object:
    """Draw an annotated LeaderWorkerSet."""
    group: Object = {"size": draw(st.integers(1, 4)), "workerTemplate": draw(templates())}
    if draw(st.booleans()):
        group["leaderTemplate"] = draw(templates())
    annotations = {SERVICE: "svc"}
    if draw(st.booleans()):
        annotations["fusioninfer.io/component-type"] = draw(
            st.sampled_from(["worker", "prefiller", "decoder"])
        )
    if draw(st.booleans()):
        annotations |= DISAGGREGATES
    if draw(st.booleans()):
        annotations["fusioninfer.io/launcher"] = draw(st.sampled_from(LAUNCHERS))
    if draw(st.integers(0, 3)) == 0:
        annotations["fusioninfer.io/skip"] = ",".join(draw(st.sets(st.sampled_from(PARTS), min_size=1)))
    annotations |= draw(blocks())
    if draw(st.booleans()):
        annotations["note/~"] = "kept"
    lws: Object = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "x", "annotations": annotations},
        "spec": {
            "replicas": draw(st.integers(0, 3)),
            "leaderWorkerTemplate": group,
            "x-unknown": draw(NOISE),
        },
    }
    if draw(st.booleans()):
        lws["metadata"]["labels"] = {"team": "a"}
    return lws


# --- tools that apply the author's file to an expanded object ---------------------------------------


def client_side(live: Object, file: Object) -> Object:
    """Apply a file by client-side apply: maps merge, lists are the file's (a JSON merge patch)."""
    merged = dict(live)
    for key, value in file.items():
        have = live.get(key)
        merged[key] = (
            client_side(have, value) if isinstance(value, dict) and isinstance(have, dict) else value
        )
    return merged


def server_side(live: Object, file: Object) -> Object:
    """Apply a file by server-side apply: keyed lists merge by item, other lists are the file's."""
    merged = dict(live)
    for key, value in file.items():
        have = live.get(key)
        if isinstance(value, dict) and isinstance(have, dict):
            merged[key] = server_side(have, value)
        elif is_keyed(key, value) and isinstance(have, list):
            merged[key] = _by_item(key, have, value)
        else:
            merged[key] = value
    return merged


def _by_item(field: str, live: list[Any], file: list[Any]) -> list[Any]:
    wanted = {identity(field, item): item for item in file}
    return [server_side(item, wanted.get(identity(field, item), {})) for item in live]


def replaced(_live: Object, file: Object) -> Object:
    """Replace the object by the file."""
    return file


STORED: Final = {("nvidia.com/gpu", 8): "8", ("memory", "1024Mi"): "1Gi"}
"""Quantities, as LWS writes them."""


def defaulted(live: Object, _file: Object) -> Object:
    """Default the object as the API server and LWS do: `protocol: TCP`, `resources: {}`, quantities."""
    stored = copy.deepcopy(live)
    for template in stored["spec"]["leaderWorkerTemplate"].values():
        spec = template["spec"] if isinstance(template, dict) else {}
        for item in (*spec.get("containers", ()), *spec.get("initContainers", ())):
            for port in item.get("ports", ()):
                port.setdefault("protocol", "TCP")
            limits = item.setdefault("resources", {}).get("limits", {})
            limits |= {name: STORED.get((name, value), value) for name, value in limits.items()}
        for item in spec.get("volumes", ()):
            if "sizeLimit" in (memory := item.get("emptyDir") or {}):
                memory["sizeLimit"] = STORED.get(("memory", memory["sizeLimit"]), memory["sizeLimit"])
    return stored


TOOLS: Final = {"client-side": client_side, "server-side": server_side, "replace": replaced}
