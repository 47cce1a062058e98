"""The decided outcomes of fields of KServe that are not in the output: a field on which it acts has a row.

A part that is left out for what it contains, and not for its place, is recorded where that is decided.
"""

from typing import Final

from importer import account
from importer.account import ANY, IGNORED, NO_COUNTERPART, Outcome, OutcomeRule, default, dropped, rule


def _lost(reason: str) -> Outcome:
    return dropped(NO_COUNTERPART, reason)


def _ignored(reason: str, *, note: bool = False) -> Outcome:
    return dropped(IGNORED, reason, note=note)


_PICKER_OF_ITS_OWN: Final = _lost("the endpoint picker is another release: see `template` of the router")
_SIZES: Final = _ignored(
    "without `worker`, or with a command of the author's, KServe does not read it", note=True
)
_SCALING: Final = _lost("write `scaling` of the role, or a ScaledObject for its LeaderWorkerSet")
_OFFLOADING: Final = _lost("write --kv-transfer-config, and the volumes that it names, in the template")
_TRACING: Final = _lost("write --otlp-traces-endpoint and the variables OTEL_* in the template")
_CRITICALITY: Final = _ignored("KServe stores it and does not act upon it; `spec.priority` does")
_ADAPTER: Final = Outcome(
    "translated", reason="requests name the adapter so; KServe serves and routes it as `publishers/…` too"
)
_BY_NAME: Final = default("routes by the name of the model are written out")
_WEIGHTS: Final = _lost("write an HTTPRoute with weights to both services")
_DRA: Final = _lost("write a ResourceClaimTemplate, and name it in `resourceClaims` of the template")

OF_EVERY_SPEC: Final[tuple[OutcomeRule, ...]] = (
    OutcomeRule(("spec",), default("an empty field adds nothing"), empty=True),
    rule("spec.baseRefs", default("the output has the fields of the bases")),
    rule("spec.storageInitializer", default("`spec.model` decides whether files are downloaded")),
    rule("spec.model.criticality", _CRITICALITY),
    rule("spec.model.lora.adapters.*.criticality", _CRITICALITY),
    rule("spec.model.lora.adapters.*.name", _ADAPTER),
    rule("spec.model.confidential", _lost("FusionInfer decrypts no models")),
    *(
        OutcomeRule((*path, *below), outcome)
        for path in (("spec",), ("spec", "prefill"))
        for below, outcome in (
            (("parallelism", ANY), _SIZES),
            (("scaling",), _SCALING),
            (("kvCacheOffloading",), _OFFLOADING),
            (("annotations", "serving.kserve.io/model-based-routing-enabled"), _BY_NAME),
        )
    ),
    rule("spec.tracing", _TRACING),
    rule("spec.router.ingress", _ignored("KServe has no controller for it; `ingress` of the router does it")),
    rule("spec.router.route.group", _WEIGHTS),
    rule("spec.router.route.weight", _WEIGHTS),
    rule(
        "spec.router.route.http.refs",
        _lost("the route leads to KServe's pool: change its backend to the InferencePool of the service"),
    ),
)
"""By the path in an LLMInferenceService or an LLMInferenceServiceConfig."""
_OF_AUTHORS: Final[tuple[OutcomeRule, ...]] = (
    *(
        rule(f"spec.router.scheduler.{field}", _PICKER_OF_ITS_OWN)
        for field in ("template", "labels", "annotations", "tokenizer")
    ),
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
_MERGED: Final = tuple(
    rule(path, default("the services that name it have its fields"))
    for path in ("apiVersion", "kind", "metadata")
)

OF_SERVICES: Final[tuple[OutcomeRule, ...]] = (
    *(rule(path, default("the output is an InferenceService")) for path in ("apiVersion", "kind")),
    *_OF_AUTHORS,
)
OF_BASES: Final = (*_MERGED, *_OF_AUTHORS)
"""Of a base that the author of a service wrote."""
OF_PRESETS: Final[tuple[OutcomeRule, ...]] = (
    *_MERGED,
    rule(
        "spec.router.scheduler", default("the controller creates the endpoint picker and its InferencePool")
    ),
    *OF_EVERY_SPEC,
)
UNUSED: Final = OutcomeRule((), dropped(account.UNUSED, "no service in the files refers to it"))
"""Of a base that is not used."""
