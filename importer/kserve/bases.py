"""A service of KServe over its bases: the presets that its fields ask for, then its own `baseRefs`.

Source: kserve `pkg/controller/v1alpha2/llmisvc/config_merge.go` v0.20.0, `combineBaseRefsConfig` and
`ReplaceVariables`. Templates see the service as its author wrote it, without its bases.
"""

import operator
from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from importer.account import MISSING, Account, ObjectKey, UntranslatableError, key_of, overridden
from importer.gotemplate import FUNCTIONS, Function, Value, rendered
from importer.leaves import Leaf, Tree, at, fields_at, items_at, origins, picked, plain, value_at
from importer.merge import KSERVE, merged
from intent import Object
from intent.shapes import mapping, metadata, number, text

PRESET: Final = "kserve-config-llm-"
"""How the names of presets begin."""
_GET_PRESETS: Final = "add the file; kubectl get llminferenceserviceconfig -n kserve -o yaml prints presets"
_NO_PIPELINE: Final = (
    "no release of KServe has one for `pipeline` with `worker`: add your own, or set `pipeline` in the "
    "InferenceService instead"
)
_NOT_SHIPPED: Final = "worker-pipeline-parallel"
"""The end of the names of presets that KServe asks for, and does not install."""
_OVERRIDDEN: Final = overridden("another base, or the service, has a value for it")


def with_bases(
    tree: Tree, configs: Mapping[ObjectKey, Tree], account: Account
) -> tuple[Tree, frozenset[ObjectKey]]:
    """Return a service with its bases merged in and its templates rendered, and the keys of these bases.

    Raises:
        UntranslatableError: a base is missing, or a template cannot be rendered.
    """
    spec, (namespace, name) = at(tree, "spec"), key_of(tree)
    if not isinstance(spec, dict):
        raise UntranslatableError("spec", "must be an object with the service")
    names = [text(value_at(ref, "name")) for ref in items_at(spec, "baseRefs")]
    namespace = namespace or "default"
    refs = {name: _key(configs, namespace, name) for name in names}
    own = [key for key in map(refs.get, names) if key]
    asked = merged(KSERVE, spec, *(_spec(configs[key]) for key in own))  # here bases are over the service
    asked_for = {name: _key(configs, namespace, name) for name in presets(asked)}
    if lacks := [name[:80] or "without a name" for name, key in (refs | asked_for).items() if key is None]:
        where = "spec.baseRefs" if None in refs.values() else "spec"
        is_shipped = not any(each.startswith(PRESET) and each.endswith(_NOT_SHIPPED) for each in lacks)
        remedy = _GET_PRESETS if is_shipped else _NO_PIPELINE
        message = f"needs the LLMInferenceServiceConfig {', '.join(lacks)}: {remedy}"
        raise UntranslatableError(where, message, MISSING)
    known = [key for key in asked_for.values() if key]
    layers = [*(_spec(configs[key]) for key in (*known, *own)), spec]
    model_name = text(value_at(asked, "model", "name") or name)
    root = _root(plain(tree), namespace, model_name)
    if served := picked(at(asked, "model"), "name"):
        layers.append({"model": served})  # a base's own name comes before that of the service
    complete = rendered(merged(KSERVE, *layers), root, _FUNCTIONS, in_json=True)
    stands = set(origins(complete))
    gone = [each for each in origins(layers) if each not in stands and each.path[:2] != ("spec", "baseRefs")]
    account.leave(Leaf(None, tuple(gone)), _OVERRIDDEN)
    return {**tree, "spec": complete}, frozenset((*known, *own))


def _key(configs: Container[ObjectKey], namespace: str, name: str) -> ObjectKey | None:
    """Return the config of a name: in the namespace of the service, else of KServe, else without one."""
    candidates = ((space, name) for space in (namespace, SYSTEM, ""))
    return next((key for key in candidates if key in configs), None)


def _spec(config: Tree) -> Tree:
    return {key: value for key, value in fields_at(config, "spec").items() if key != "baseRefs"}


# --- presets ------------------------------------------------------------------------------------------


def presets(spec: Tree) -> Iterator[str]:
    """Yield the names of the presets that a spec asks for, in the order in which they are merged."""
    scheduler, route = at(spec, "router", "scheduler"), at(spec, "router", "route")
    if scheduler is not None and at(scheduler, "pool", "ref") is None:
        yield f"{PRESET}scheduler"
    if "predicted-latency-producer" in str(plain(at(scheduler, "config", "inline"))):
        yield f"{PRESET}scheduler-latency-predictor"
    if route is not None and not at(route, "http", "refs"):
        yield f"{PRESET}router-route"
    if at(spec, "tracing") is not None:
        yield f"{PRESET}tracing"
    prefill = at(spec, "prefill")
    if prefill is not None:
        yield from _of_workload("prefill-", prefill)
    yield from _of_workload("" if prefill is None else "decode-", spec)


def _of_workload(role: str, workload: Tree) -> Iterator[str]:
    """Yield the preset for the pods of a role, if there is one."""
    data, local, stages = (
        number(value_at(workload, "parallelism", size)) for size in ("data", "dataLocal", "pipeline")
    )
    if at(workload, "worker") is None:
        yield f"{PRESET}{role}template"
    elif data > 0 or local > 0:
        yield f"{PRESET}{role}worker-data-parallel"
    elif stages > 0:
        yield f"{PRESET}{role}{_NOT_SHIPPED}"


# --- what templates refer to --------------------------------------------------------------------------

GATEWAY: Final = "kserve-ingress-gateway"
SYSTEM: Final = "kserve"
HEADER: Final = "X-Gateway-Model-Name"
"""Of KServe's own configuration, its defaults. TLS between pods is off: FusionInfer's endpoints have none."""
_GRACE: Final = 60
_LEFT: Final = 5
"""Seconds that remain of the grace period after the engine's own time to shut down."""


def _shutdown_timeout(pod: Value, pre_stop: int) -> int:
    seconds = number(mapping(pod).get("TerminationGracePeriodSeconds"), _GRACE)
    return max(seconds - pre_stop - min(_LEFT, seconds), 0)


_FUNCTIONS: Final[Mapping[str, Function]] = {
    **FUNCTIONS,
    "ChildName": operator.add,
    "shutdownTimeout": _shutdown_timeout,
    "kvTransferConfig": lambda _: "",
}
"""The functions of KServe's templates. That of the KV cache adds nothing: the report names the loss.

Long names of children are not shortened: the output has none of them.
"""
_FIELDS: Final = (
    *("prefill", "parallelism", "template", "worker", "terminationGracePeriodSeconds"),
    *("tensor", "pipeline", "data", "dataLocal", "dataRPCPort", "expert"),
)
"""The fields that templates read, wherever they are; each is nil where it is absent."""


def _in_go(value: Any) -> Value:
    """Return a field by the names of Go: `.Spec.Parallelism.Data` of `spec.parallelism.data`."""
    if not isinstance(value, dict):
        return value
    below = {f"{name[:1].upper()}{name[1:]}": _in_go(value.get(name)) for name in _FIELDS}
    return {"KVCacheOffloading": None, **below}


def _root(service: Object, namespace: str, model_name: str) -> Object:
    """Return the root of the templates of a service."""
    name = text(metadata(service).get("name"))
    own = {
        "Name": name,
        "Namespace": namespace,
        "Labels": mapping(metadata(service).get("labels")),
        "Annotations": mapping(metadata(service).get("annotations")),
    }
    fields = {**_in_go(service["spec"]), "Model": {"Name": model_name}}
    settings = {
        "SystemNamespace": SYSTEM,
        "IngressGatewayName": GATEWAY,
        "IngressGatewayNamespace": SYSTEM,
        "EnableTLS": False,
        "ModelBasedRoutingHeaderName": HEADER,
        "InferencePoolNamespacedName": f"{namespace}/{name}-inference-pool",
    }
    return {**own, "ObjectMeta": own, "Spec": fields, "GlobalConfig": settings}
