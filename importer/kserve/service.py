"""An LLMInferenceService, with its bases, as an InferenceService."""

from collections.abc import Mapping
from typing import Final

from importer.account import COMPONENT_TYPES, Account, default, ignored, lost, own_sidecar, told
from importer.kserve.pods import pod_of
from importer.kserve.routes import PICKER as GENERATION
from importer.kserve.routes import router
from importer.leaves import Leaf, Tree, at, fields_at, items_at, manifest, origins, picked, value_at
from intent.annotations import LAUNCHER, PICKER
from intent.inferenceservice.v1alpha1 import API_VERSION, KIND
from intent.shapes import number, text

RPC_PORT: Final = 5555
"""The port of KServe's preset; the engine's own default is another."""
PASSED: Final[Mapping[str, tuple[str, ...]]] = {
    "labels": ("kueue.x-k8s.io",),
    "annotations": ("k8s.v1.cni.cncf.io", "kueue.x-k8s.io", "prometheus.io"),
}
"""The prefixes of labels and annotations of a service that its pods have too."""
ROUTING: Final = "serving.kserve.io/model-based-routing-enabled"
_THEIRS: Final = "serving.kserve.io/"
_MOUNTED_BY_AUTHOR: Final = ignored(
    "with `storageInitializer.enabled: false`, KServe leaves the files of the model to the author"
)
CRITICALITY: Final = ignored("KServe stores it and does not act upon it; `spec.priority` does")
_ADAPTER: Final = told("requests name the adapter so; KServe serves it as `publishers/…` too")
_NOT_READ: Final = lost(
    "FusionInfer does not read it: see `replicas` and, for DRA, `resourceClaims` of the template",
)
_ROUTED: Final = default("routes by the name of the model are written out")
_STAYS: Final = "its command is no preset's, or only a shell can tell it; the pods start it as it is"


def translated(document: int, service: Tree, account: Account) -> tuple[Tree, ...]:
    """Return the InferenceService, and what has no place in it; `document` is the index of the input."""
    spec = at(service, "spec")
    split = at(spec, "prefill") is not None
    workloads = {"decode" if split else "worker": spec}
    if split:
        workloads = {"prefill": at(spec, "prefill"), **workloads}
    roles = [_role(name, workload, service, document, account) for name, workload in workloads.items()]
    routing, route = router(service, split=split, account=account)
    fields = {**_model(spec, account), "roles": [*roles, *([routing] if routing else [])]}
    obj = manifest(API_VERSION, KIND, _metadata(service, routing, account), fields)
    return obj, *([route] if route else [])


def _metadata(service: Tree, routing: Tree, account: Account) -> Tree:
    """Return the metadata; with KServe's release of the endpoint picker, if that is configured."""
    own = picked(at(service, "metadata"), "name", "namespace")
    is_configured = not fields_at(routing).keys().isdisjoint(("endpointPickerConfig", "configRef"))
    ours = {"annotations": {PICKER: Leaf(GENERATION)}} if is_configured else {}
    for key in ("labels", "annotations"):
        fields = fields_at(service, "metadata", key)
        account.leave([value for name, value in fields.items() if name.startswith(_THEIRS)], _NOT_READ)
        kept = {name: value for name, value in fields.items() if _THEIRS not in name} | ours.get(key, {})
        own |= {key: kept} if kept else {}
    return own


# --- the model ----------------------------------------------------------------------------------------


def _model(spec: Tree, account: Account) -> dict[str, Tree]:
    """Return the fields `model` and `lora` of the output."""
    model = picked(at(spec, "model"), "uri", "name")
    if value_at(spec, "storageInitializer", "enabled") is False:
        account.leave(model, _MOUNTED_BY_AUTHOR)
        return {}
    if not isinstance(model.get("uri"), Leaf):
        return {}
    uri = text(value_at(model, "uri"))
    model["uri"] = model["uri"].having(uri.replace("oci+native://", "oci://", 1))
    if uri.startswith("hf://"):
        model["cache"] = Leaf("download")
    lora = fields_at(spec, "model", "lora")
    adapters = [picked(each, "name", "uri") for each in items_at(lora, "adapters")]
    account.leave([at(each, "name") for each in adapters], _ADAPTER)
    account.leave([at(each, "criticality") for each in items_at(lora, "adapters")], CRITICALITY)
    if not adapters:
        return {"model": model}
    limits = picked(lora, "maxRank", "maxAdapters", "maxCpuAdapters")
    return {"model": model, "lora": {"adapters": adapters, **limits}}


# --- roles --------------------------------------------------------------------------------------------


def _role(name: str, workload: Tree, service: Tree, document: int, account: Account) -> dict[str, Tree]:
    parallelism, has_workers = at(workload, "parallelism"), at(workload, "worker") is not None
    nodes = _nodes(parallelism) if has_workers else 1
    pods = [pod_of(at(workload, "template"), service, account)]
    if nodes > 1:
        pods.append(pod_of(at(workload, "worker"), service, account))
    elif has_workers:
        account.leave(at(workload, "worker"), ignored("a replica has one pod, which is the leader"))
    is_plain = all(plain for _, plain in pods)
    component = Leaf(COMPONENT_TYPES[name])
    role = {"name": Leaf(name), "componentType": component, **picked(workload, "replicas")}
    if rollout := fields_at(workload, "rolloutStrategy"):
        role["rolloutStrategy"] = {"rollingUpdateConfiguration": rollout}
    if is_plain and (sizes := _sizes(parallelism, has_workers=has_workers)):
        role["parallelism"] = sizes
    if has_workers:
        sizes_of_groups = picked(parallelism, "data", "dataLocal")
        role["multinode"] = {"nodeCount": Leaf(nodes, tuple(origins(sizes_of_groups)))}
    launcher: dict[str, Tree] = {LAUNCHER: Leaf("vllm-native" if is_plain else "none")} if nodes > 1 else {}
    if nodes > 1 and not is_plain:
        path = "spec.prefill.template" if name == "prefill" else "spec.template"
        account.stays(document, path, _STAYS)
    for field, (pod, _), ours in zip(("template", "worker"), pods, (launcher, {}), strict=False):
        role[field] = _template(pod, workload, service, ours, account)
    return role


def _template(pod: Tree, workload: Tree, service: Tree, ours: dict[str, Tree], account: Account) -> Tree:
    """Return a pod template, with the labels and annotations that KServe passes on to pods."""
    metadata: dict[str, dict[str, Tree]] = {}
    for key, prefixes in PASSED.items():
        own = fields_at(service, "metadata", key).items()
        passed = {name: value for name, value in own if name.startswith(prefixes)}
        metadata[key] = {**passed, **fields_at(workload, key)}
    account.leave(metadata["annotations"].pop(ROUTING, []), _ROUTED)
    metadata["annotations"] |= ours | own_sidecar(pod)
    kept = {key: fields for key, fields in metadata.items() if fields}
    return {"metadata": kept, "spec": pod} if kept else {"spec": pod}


def _sizes(parallelism: Tree, *, has_workers: bool) -> dict[str, Tree]:
    """Return the sizes that KServe reads: without workers, only the tensor-parallel one."""
    names = ("tensor", "data", "dataLocal", "dataRPCPort", "expert") if has_workers else ("tensor",)
    sizes = {name: at(parallelism, name) for name in names if value_at(parallelism, name) is not None}
    return {"dataRPCPort": Leaf(RPC_PORT), **sizes} if has_workers else sizes


def _nodes(parallelism: Tree) -> int:
    """Return the pods of a group (kserve `llm_inference_service_types_func.go`, `GetSize`)."""
    data, local, stages = (
        max(number(value_at(parallelism, name)), 1) for name in ("data", "dataLocal", "pipeline")
    )
    if at(parallelism, "data") is None and at(parallelism, "dataLocal") is None:
        return stages
    return max(data // local, 1)
