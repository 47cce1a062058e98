"""An LLMInferenceService, with its bases, as an InferenceService."""

from dataclasses import dataclass
from typing import Any, Final

from importer.kserve.account import Account
from importer.kserve.pods import OwningService, PodTemplate, engine, has_sidecar, pod_of
from importer.kserve.routes import PICKER as GENERATION
from importer.kserve.routes import router
from importer.kserve.scaling import scaled
from importer.leaves import Leaf, Tree, at, items_at, origins, value_at
from importer.report import IGNORED, default, dropped
from intent.annotations import LAUNCHER, PICKER, PICKER_REPLICAS, SKIP
from intent.inferenceservice.v1alpha1 import API_VERSION, KIND
from intent.shapes import text

RPC_PORT: Final = 5555
"""The port of KServe's preset; the engine's own default is another."""
PASSED_ANNOTATIONS: Final = ("k8s.v1.cni.cncf.io", "kueue.x-k8s.io", "prometheus.io")
PASSED_LABELS: Final = ("kueue.x-k8s.io",)
ROUTING: Final = "serving.kserve.io/model-based-routing-enabled"
_TYPES: Final = {"prefill": "prefiller", "decode": "decoder", "worker": "worker"}
"""The roles of a service, with their component types."""
_THEIRS: Final = ("serving.kserve.io/", "internal.serving.kserve.io/")
_MOUNTED_BY_AUTHOR: Final = dropped(
    IGNORED, "with `storageInitializer.enabled: false`, KServe leaves the files of the model to the author"
)


@dataclass(frozen=True, slots=True)
class Merged:
    """A service whose bases are merged in and whose templates are rendered."""

    metadata: Tree
    namespace: str
    spec: Tree
    authors: Tree
    """The spec without presets."""

    @property
    def owner(self) -> OwningService:
        """What its pods depend on."""
        return OwningService(self.spec, text(value_at(self.metadata, "name")), self.namespace)


def translated(service: Merged, account: Account) -> tuple[Tree, ...]:
    """Return the InferenceService, and what has no place in it."""
    spec, name = service.spec, text(value_at(service.metadata, "name"))
    split = at(spec, "prefill") is not None
    workloads = {"decode" if split else "worker": spec}
    if split:
        workloads = {"prefill": at(spec, "prefill"), **workloads}
    roles = [_role(one, _TYPES[one], workload, service, account) for one, workload in workloads.items()]
    variants = [
        _add_scaling(one, workload, service, account)
        for one, workload in zip(roles, workloads.values(), strict=True)
    ]
    role, route = router(name, spec, service.authors, split=split, account=account)
    made = {
        "apiVersion": Leaf(API_VERSION),
        "kind": Leaf(KIND),
        "metadata": _metadata(service, account, _annotations(role, spec)),
        "spec": {**_model(spec, account), "roles": [*roles, *([role] if role else [])]},
    }
    if route and isinstance(at(service.metadata, "namespace"), Leaf):
        route["metadata"]["namespace"] = Leaf(value_at(service.metadata, "namespace"))
    return (made, *(one for one in (route, *variants) if one))


def _add_scaling(role: dict[str, Tree], workload: Tree, service: Merged, account: Account) -> Tree:
    """Add the autoscaling of a role; return the object that it needs beside, or None."""
    scaling, variant = scaled(role["name"].value, workload, service.metadata, service.spec, account)
    if scaling:
        role["scaling"] = scaling
    return variant


def _annotations(router: Tree, spec: Tree) -> dict[str, Tree]:
    """Return our annotations for the endpoint picker that KServe has: its release, and its replicas."""
    found: dict[str, Tree] = {}
    is_own = router and ("endpointPickerConfig" in router or "configRef" in router)
    replicas = at(spec, "router", "scheduler", "replicas")
    if is_own:
        found[PICKER] = Leaf(GENERATION)
    if router and isinstance(replicas, Leaf):
        found[PICKER_REPLICAS] = replicas.having(str(replicas.value))
    return found


def _metadata(service: Merged, account: Account, ours: dict[str, Tree]) -> Tree:
    found: dict[str, Tree] = {}
    for key, value in service.metadata.items():
        if key in ("labels", "annotations") and isinstance(value, dict):
            own = {name: one for name, one in value.items() if not name.startswith(_THEIRS)}
            for name in value.keys() - own.keys():
                account.leave(value[name], default("it is for KServe's controller"))
            found |= {key: own} if own else {}
        elif key in ("name", "namespace", "labels", "annotations"):
            found[key] = value
    if ours:
        notes = found.get("annotations")
        found["annotations"] = {**(notes if isinstance(notes, dict) else {}), **ours}
    return found


# --- the model ----------------------------------------------------------------------------------------


def _model(spec: Tree, account: Account) -> dict[str, Tree]:
    uri, name = at(spec, "model", "uri"), at(spec, "model", "name")
    if value_at(spec, "storageInitializer", "enabled") is False:
        account.leave({"uri": uri or {}, "name": name or {}}, _MOUNTED_BY_AUTHOR)
        return {}
    if not isinstance(uri, Leaf):
        return {}
    model: dict[str, Tree] = {"uri": uri.having(text(uri.value).replace("oci+native://", "oci://", 1))}
    if isinstance(name, Leaf):
        model["name"] = name
    if text(uri.value).startswith("hf://"):
        model["cache"] = Leaf("download")
    found: dict[str, Tree] = {"model": model}
    adapters = at(spec, "model", "lora", "adapters")
    if isinstance(adapters, list) and adapters:
        limits = ("maxRank", "maxAdapters", "maxCpuAdapters")
        lora = at(spec, "model", "lora")
        found["lora"] = {
            "adapters": [_adapter(one) for one in adapters],
            **{key: lora[key] for key in limits if key in lora},
        }
    return found


def _adapter(adapter: Tree) -> Tree:
    if not isinstance(adapter, dict):
        return adapter
    return {key: adapter[key] for key in ("name", "uri") if key in adapter}


# --- roles --------------------------------------------------------------------------------------------


def _role(name: str, component: str, workload: Tree, service: Merged, account: Account) -> dict[str, Tree]:
    parallelism, has_workers = at(workload, "parallelism"), at(workload, "worker") is not None
    nodes = _nodes(parallelism) if has_workers else 1
    pods = [pod_of(at(workload, "template"), workload, service.owner, account)]
    if nodes > 1:
        pods.append(pod_of(at(workload, "worker"), workload, service.owner, account))
    elif has_workers:
        account.leave(at(workload, "worker"), dropped(IGNORED, "a replica has one pod, which is the leader"))
    is_plain = all(pod.is_plain for pod in pods)
    role: dict[str, Tree] = {"name": Leaf(name), "componentType": Leaf(component)}
    replicas = at(workload, "replicas")
    if isinstance(replicas, Leaf) and at(workload, "scaling") is None:
        role["replicas"] = replicas
    if isinstance(rollout := at(workload, "rolloutStrategy"), dict):
        role["rolloutStrategy"] = {"rollingUpdateConfiguration": rollout}
    if is_plain and (sizes := _sizes(workload, has_workers=has_workers)):
        role["parallelism"] = sizes
    if has_workers:
        made_from = tuple(origins([one for key in ("data", "dataLocal") if (one := at(parallelism, key))]))
        role["multinode"] = {"nodeCount": Leaf(nodes, made_from)}
    if nodes > 1 and not is_plain:
        account.stays.append("spec.prefill.template" if name == "prefill" else "spec.template")
    launcher: dict[str, Tree] = {LAUNCHER: Leaf("vllm-native" if is_plain else "none")} if nodes > 1 else {}
    role["template"] = _template(pods[0], name, workload, service, launcher)
    if nodes > 1:
        role["worker"] = _template(pods[1], name, workload, service, {})
    return role


def _template(pod: PodTemplate, role: str, workload: Tree, service: Merged, ours: dict[str, Tree]) -> Tree:
    _trace(engine(pod.spec), role, service)
    notes = {**_passed(service, "annotations", PASSED_ANNOTATIONS), **_map(workload, "annotations"), **ours}
    notes.pop(ROUTING, None)
    if has_sidecar(pod.spec):
        notes[SKIP] = Leaf("sidecar")
    labels = {**_passed(service, "labels", PASSED_LABELS), **_map(workload, "labels")}
    kept = {key: value for key, value in {"labels": labels, "annotations": notes}.items() if value}
    return {"metadata": kept, "spec": pod.spec} if kept else {"spec": pod.spec}


def _map(workload: Tree, key: str) -> dict[str, Tree]:
    found = at(workload, key)
    return found if isinstance(found, dict) else {}


def _passed(service: Merged, key: str, prefixes: tuple[str, ...]) -> dict[str, Tree]:
    """Return the labels or annotations of the service that its pods have too."""
    return {name: one for name, one in _map(service.metadata, key).items() if name.startswith(prefixes)}


def _sizes(workload: Tree, *, has_workers: bool) -> dict[str, Tree]:
    names = ("tensor", "data", "dataLocal", "dataRPCPort") if has_workers else ("tensor",)
    found = {name: at(workload, "parallelism", name) for name in names}
    sizes = {name: one for name, one in found.items() if isinstance(one, Leaf) and one.value}
    expert = at(workload, "parallelism", "expert")
    if has_workers and isinstance(expert, Leaf):
        sizes["expert"] = expert
    return {**sizes, "dataRPCPort": sizes.get("dataRPCPort", Leaf(RPC_PORT))} if has_workers else sizes


def _nodes(parallelism: Tree) -> int:
    """Return the pods of a group (kserve `llm_inference_service_types_func.go`, `GetSize`)."""
    data, local, stages = (
        _positive(value_at(parallelism, name)) for name in ("data", "dataLocal", "pipeline")
    )
    if at(parallelism, "data") is None and at(parallelism, "dataLocal") is None:
        return stages
    return max(data // local, 1)


def _positive(value: Any) -> int:
    return value if type(value) is int and value > 0 else 1


# --- tracing ------------------------------------------------------------------------------------------

_ATTRIBUTES: Final = "OTEL_RESOURCE_ATTRIBUTES"
_VARIABLES: Final = {
    "OTEL_EXPORTER_OTLP_ENDPOINT": "exporterEndpoint",
    "OTEL_TRACES_EXPORTER": "exporter",
    "OTEL_TRACES_SAMPLER": "sampler",
    "OTEL_TRACES_SAMPLER_ARG": "samplerArg",
}


def _trace(container: Tree, role: str, service: Merged) -> None:
    """Add what KServe adds to an engine that it traces (`tracing.go`): arguments and variables."""
    tracing = at(service.spec, "tracing")
    endpoint = at(tracing, "exporterEndpoint")
    if not isinstance(container, dict) or not isinstance(endpoint, Leaf) or not endpoint.value:
        return
    args = items_at(container, "args")
    written = [text(value_at(one)).partition("=")[0] for one in args]
    more = {"--otlp-traces-endpoint": endpoint, "--collect-detailed-traces": Leaf("all")}
    for flag, value in more.items():
        if flag not in written:
            args = [*args, Leaf(flag), value]
    container["args"] = args
    env = items_at(container, "env")
    named = {text(value_at(one, "name")) for one in env}
    ending = "prefill" if role == "prefill" else "decode"
    values: dict[str, Tree] = {"OTEL_SERVICE_NAME": {"value": Leaf(f"inference-server-{ending}")}}
    for name, field in _VARIABLES.items():
        if isinstance(tracing.get(field), Leaf):
            values[name] = {"value": tracing[field]}
    values |= _attributes(service)
    container["env"] = [
        *env,
        *({"name": Leaf(name), **value} for name, value in values.items() if name not in named),
    ]


def _attributes(service: Merged) -> dict[str, Tree]:
    """Return the variables that tell where a pod is; the last one refers to those before it."""
    places = {"NODE_NAME": "spec.nodeName", "POD_NAME": "metadata.name"}
    whole = (
        f"k8s.namespace.name={service.namespace},k8s.node.name=$({_ATTRIBUTES}_NODE_NAME)"
        f",k8s.pod.name=$({_ATTRIBUTES}_POD_NAME),llmisvc.name={value_at(service.metadata, 'name')}"
    )
    fields = {
        f"{_ATTRIBUTES}_{name}": {"valueFrom": {"fieldRef": {"fieldPath": Leaf(path)}}}
        for name, path in places.items()
    }
    return {**fields, _ATTRIBUTES: {"value": Leaf(whole)}}
