"""The decided outcomes of fields of KServe that are not in the output: a field on which it acts has a row.

A part that is left out for what it contains, and not for its place, is recorded where that is decided.
"""

from dataclasses import replace
from typing import Final

from importer import report
from importer.report import IGNORED, NO_COUNTERPART, Outcome, OutcomeRule, default, dropped, empty, rule


def _lost(reason: str) -> Outcome:
    return dropped(NO_COUNTERPART, reason)


def _ignored(reason: str) -> Outcome:
    return dropped(IGNORED, reason)


_PICKER: Final = default("the controller creates the endpoint picker and its InferencePool")
_PICKER_OF_ITS_OWN: Final = _lost("the endpoint picker is another release: see `template` of the router")
_SIZES: Final = replace(
    _ignored("without `worker`, or with a command of the author's, KServe does not read it"), note=True
)
_OFFLOADING: Final = replace(
    _ignored("KServe's script passes it to vLLM 0.22 and later alone, and without --kv-transfer-config"),
    note=True,
)
_CRITICALITY: Final = _ignored("KServe stores it and does not act upon it; `spec.priority` does")
_ADAPTER: Final = Outcome(
    "translated", reason="requests name the adapter so; KServe serves and routes it as `publishers/…` too"
)
_MERGED: Final = default("the services that name it have its fields")
_DRA: Final = _lost("write a ResourceClaimTemplate, and name it in `resourceClaims` of the template")

OF_EVERY_SPEC: Final[tuple[OutcomeRule, ...]] = (
    rule("spec.baseRefs", default("the output has the fields of the bases")),
    rule("spec.storageInitializer", default("`spec.model` decides whether files are downloaded")),
    rule("spec.model.criticality", _CRITICALITY),
    empty("spec.model.lora", default("there are no adapters")),
    rule("spec.model.lora.adapters.*.criticality", _CRITICALITY),
    rule("spec.model.lora.adapters.*.name", _ADAPTER),
    rule("spec.model.confidential", _lost("FusionInfer decrypts no models")),
    empty("spec.template", default("an empty pod template adds nothing")),
    empty("spec.worker", default("the number of nodes follows from the parallel sizes")),
    empty("spec.prefill", default("the role `prefill` is made from it")),
    *(
        OutcomeRule((*path, "parallelism", name), _SIZES)
        for path in (("spec",), ("spec", "prefill"))
        for name in ("tensor", "pipeline", "data", "dataLocal", "dataRPCPort", "expert")
    ),
    empty("spec.parallelism", default("without a size there is nothing to do")),
    empty("spec.prefill.parallelism", default("without a size there is nothing to do")),
    empty(
        "spec.router.gateway", default("routes lead to the Gateway of KServe's configuration, as they did")
    ),
    rule("spec.router.ingress", _ignored("KServe has no controller for it; `ingress` of the router does it")),
    empty("spec.router.route", default("the router has the rules of KServe's preset")),
    rule("spec.router.route.group", _lost("write an HTTPRoute with weights to both services")),
    rule("spec.router.route.weight", _lost("write an HTTPRoute with weights to both services")),
    rule(
        "spec.router.route.http.refs",
        _lost("the route leads to KServe's pool: change its backend to the InferencePool of the service"),
    ),
    empty("spec.router.scheduler", _PICKER),
    rule("spec.router.scheduler.tokenizer", _PICKER_OF_ITS_OWN),
    empty("spec.router.scheduler.config.inline", default("there is no configuration in it")),
    *(OutcomeRule((*path, "kvCacheOffloading"), _OFFLOADING) for path in (("spec",), ("spec", "prefill"))),
    empty("spec.tracing", _lost("without an endpoint, nothing is traced")),
    *(
        OutcomeRule((*path, "annotations", "serving.kserve.io/model-based-routing-enabled"), routing)
        for path in (("spec",), ("spec", "prefill"))
        for routing in (default("routes by the name of the model are written out"),)
    ),
    empty("spec.annotations", default("the template has no annotations of its own")),
    empty("spec.labels", default("the template has no labels of its own")),
)
"""By the path in an LLMInferenceService or an LLMInferenceServiceConfig."""

OF_SERVICES: Final[tuple[OutcomeRule, ...]] = (
    rule("apiVersion", default("the output is an InferenceService")),
    rule("kind", default("the output is an InferenceService")),
    rule("spec.router.scheduler.template", _PICKER_OF_ITS_OWN),
    rule(
        "spec.router.scheduler.pool.spec",
        _lost("the controller makes the InferencePool: its port and selector are its own"),
    ),
    *(
        OutcomeRule(("metadata", "annotations", f"serving.kserve.io/exp-dra-{name}"), _DRA)
        for name in ("device-class", "device-count", "cel-selector", "container-name")
    ),
    OutcomeRule(
        ("metadata", "annotations", "serving.kserve.io/stop"), _lost("set `replicas: 0` of each role")
    ),
    *OF_EVERY_SPEC,
)
"""Of an LLMInferenceService, and of a base that its author wrote."""
OF_BASES: Final[tuple[OutcomeRule, ...]] = (
    *(rule(path, _MERGED) for path in ("apiVersion", "kind", "metadata")),
    empty("spec", _MERGED),
    *OF_SERVICES[2:],
)
OF_PRESETS: Final[tuple[OutcomeRule, ...]] = (
    *OF_BASES[:4],
    rule("spec.router.scheduler", _PICKER),
    *OF_EVERY_SPEC,
)
UNUSED: Final = OutcomeRule((), dropped(report.UNUSED, "no service in the files refers to it"))
"""Of a base that is not used."""
