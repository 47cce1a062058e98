"""The decided outcomes of fields of KServe that are not in the output: a field on which it acts has a row.

A part that is left out for what it contains, and not for its place, is recorded where that is decided.
"""

from typing import Final

from importer.account import UNUSED, Outcome, Rules, default, ignored, lost, rules

_OURS: Final = default("the output is an InferenceService, with the fields of its bases")
_PICKER: Final = lost("the endpoint picker is another release: see `template` of the router")
_CRITICALITY: Final = ignored("KServe stores it and does not act upon it; `spec.priority` does")
_WEIGHTS: Final = lost("write an HTTPRoute with weights to both services")
_SIZES: Final = "without `worker`, or with a command of the author's, KServe does not read it"
_OF_WORKLOADS: Final = {
    "parallelism": ignored(_SIZES, note=True),
    "scaling": lost("write `scaling` of the role, or a ScaledObject for its LeaderWorkerSet"),
    "kvCacheOffloading": lost("write --kv-transfer-config, and its volumes, in the template"),
}
"""By the path in the workload of decode, and in that of prefill."""
_OF_SPECS: Final = {
    "baseRefs": _OURS,
    "storageInitializer": default("`spec.model` decides whether files are downloaded"),
    "tracing": lost("write --otlp-traces-endpoint and the variables OTEL_* in the template"),
    "model.criticality": _CRITICALITY,
    "model.lora.adapters.*.criticality": _CRITICALITY,
    "model.lora.adapters.*.name": Outcome(
        "translated", reason="requests name the adapter so; KServe serves it as `publishers/…` too"
    ),
    "model.confidential": lost("FusionInfer decrypts no models"),
    "router.ingress": ignored("KServe has no controller for it; `ingress` of the router does it"),
    "router.route.group": _WEIGHTS,
    "router.route.weight": _WEIGHTS,
    "router.route.http.refs": lost(
        "the route leads to KServe's pool: change its backend to the InferencePool of the service"
    ),
    "router.scheduler.replicas": lost("write the annotation fusioninfer.io/picker-replicas"),
    "router.scheduler.template": _PICKER,
    "router.scheduler.labels": _PICKER,
    "router.scheduler.annotations": _PICKER,
    "router.scheduler.tokenizer": _PICKER,
    "router.scheduler.pool.spec": lost("the controller makes the InferencePool, with its port and selector"),
}
_BY_CONTROLLER: Final = default("the controller creates the endpoint picker and its InferencePool")

OF_AUTHORS: Final[Rules] = {
    **rules(dict.fromkeys(("apiVersion", "kind", "metadata"), _OURS)),
    **rules(_OF_SPECS | _OF_WORKLOADS, "spec"),
    **rules(_OF_WORKLOADS, "spec", "prefill"),
}
"""Of a service, and of a base that its author wrote."""
OF_PRESETS: Final[Rules] = {
    **{path: outcome for path, outcome in OF_AUTHORS.items() if "scheduler" not in path},
    **rules({"router.scheduler": _BY_CONTROLLER}, "spec"),
}
OF_UNUSED: Final[Rules] = {(): Outcome("dropped", "no service in the files refers to it", UNUSED)}
"""Of a base that is not used."""
