"""The importer of KServe: presets, then bases, then the service, merged its way, as an InferenceService."""

from typing import Final

from catalog.schemas import POD_TEMPLATE, schemas
from importer.account import (
    Account,
    Rules,
    UntranslatableError,
    default,
    ignored,
    key_of,
    lost,
    rules,
    take,
    unknown,
    unused,
)
from importer.kserve.bases import PRESET, with_bases
from importer.kserve.service import CRITICALITY, translated
from importer.leaves import LeafPath, Tree, fields_at, value_at, written

GROUP: Final = "serving.kserve.io"
SERVICE: Final = "LLMInferenceService"
CONFIG: Final = "LLMInferenceServiceConfig"


def translate(trees: dict[int, Tree], account: Account) -> None:
    """Translate all services, each with the bases that are among the objects merged in."""
    own = take(trees, GROUP, SERVICE, CONFIG)
    placed = {number: _placed(tree, account) for number, tree in own.items()}
    bases = {number: key_of(tree) for number, tree in placed.items() if value_at(tree, "kind") == CONFIG}
    configs = {key: placed[number] for number, key in bases.items() if key[1]}
    without_use = set(bases.values())
    for number in (number for number in placed if number not in bases):
        account.say(number, OF_AUTHORS)
        try:
            service, keys = with_bases(placed[number], configs, account)
            account.objects += translated(number, service, account)
            without_use -= keys
        except UntranslatableError as problem:
            account.problems[number] = problem.error
    for number, key in bases.items():
        outcomes = OF_PRESETS if key[1].startswith(PRESET) else OF_AUTHORS
        account.say(number, OF_UNUSED if key in without_use else outcomes)


# --- fields that KServe does not have -----------------------------------------------------------------

_WORKLOAD: Final = frozenset({
    *("replicas", "parallelism", "template", "worker", "labels", "annotations", "scaling"),
    *("kvCacheOffloading", "rolloutStrategy"),
})  # fmt: skip
_SPEC: Final = _WORKLOAD | {"model", "prefill", "router", "tracing", "storageInitializer", "baseRefs"}


def _placed(tree: Tree, account: Account) -> Tree:
    """Return the tree of an object without the fields that KServe does not have in a spec and its pods."""
    pod_fields = frozenset(schemas()[POD_TEMPLATE].root["properties"]["spec"]["properties"])
    places: list[tuple[LeafPath, frozenset[str]]] = [(("spec",), _SPEC), (("spec", "prefill"), _WORKLOAD)]
    places += [((*above, pod), pod_fields) for above, _ in places for pod in ("template", "worker")]
    for place, fields in places:
        for name, below in fields_at(tree, *place).items():
            if name not in fields:
                why = f"KServe has no field {name} in {written(place)}, and drops it"
                if inner := ", ".join(field for field in fields_at(below) if field in fields):
                    why += f": write {inner} one level up, in {written(place)}"
                tree = account.without(tree, (*place, name), unknown(why))
    return tree


# --- decided outcomes ---------------------------------------------------------------------------------
# A part that is left out for what it contains, and not for its place, is recorded where that is decided.

_OURS: Final = default("the output is an InferenceService, with the fields of its bases")
_PICKER: Final = lost("the endpoint picker is another release: see `template` of the router")
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
    "model.criticality": CRITICALITY,
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
OF_UNUSED: Final[Rules] = {(): unused("no service in the files refers to it")}
"""Of a base that is not used."""
