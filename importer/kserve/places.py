"""Fields of a service or a base at places where KServe has no such field, and drops them.

Source: kserve `pkg/apis/serving/v1alpha2/llm_inference_service_types.go` v0.20.0; of pods, upstream's schema.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from importer.account import ANY
from importer.leaves import LeafPath, Tree, fields_at, items_at, written
from intent.errors import nearest, suggested
from intent.inferenceservice import crd
from intent.shapes import mapping

_WORKLOAD: Final = frozenset({
    *("replicas", "parallelism", "template", "worker", "labels", "annotations", "scaling"),
    *("kvCacheOffloading", "rolloutStrategy"),
})  # fmt: skip
_MODEL: Final = frozenset({"uri", "name", "criticality", "lora", "confidential"})
_POD: Final = frozenset[str]()
"""Stands for the fields of a PodSpec."""
_OF_WORKLOADS: Final[Mapping[LeafPath, frozenset[str]]] = {
    (): _WORKLOAD,
    ("template",): _POD,
    ("worker",): _POD,
    ("parallelism",): frozenset({"tensor", "pipeline", "data", "dataLocal", "dataRPCPort", "expert"}),
    ("kvCacheOffloading",): frozenset({"cpu", "evictionPolicy", "secondary"}),
    ("kvCacheOffloading", "secondary", ANY): frozenset({"fileSystem"}),
    ("rolloutStrategy",): frozenset({"maxUnavailable", "maxSurge"}),
}
"""The fields of each place in the workload of decode, and in that of prefill."""
_PLACES: Final[Mapping[LeafPath, frozenset[str]]] = {
    **{(*above, *below): names for below, names in _OF_WORKLOADS.items() for above in ((), ("prefill",))},
    (): _WORKLOAD | {"model", "prefill", "router", "tracing", "storageInitializer", "baseRefs"},
    ("model",): _MODEL,
    ("model", "lora"): frozenset({"adapters", "maxRank", "maxAdapters", "maxCpuAdapters"}),
    ("model", "lora", "adapters", ANY): _MODEL,
    ("router",): frozenset({"route", "gateway", "ingress", "scheduler"}),
    ("router", "route"): frozenset({"http", "group", "weight"}),
    ("router", "scheduler"): frozenset({
        *("pool", "labels", "annotations", "template", "config", "replicas", "tokenizer"),
    }),
}  # fmt: skip
"""The fields of each place."""


@cache
def _pod_fields() -> frozenset[str]:
    """Return the fields of a PodSpec."""
    role = crd.schema()
    for step in ("spec", "roles", "template", "spec"):
        role = mapping(mapping(role.get("properties")).get(step))
        role = mapping(role.get("items")) or role
    return frozenset(mapping(role.get("properties")))


def _fields(place: LeafPath) -> frozenset[str]:
    return _PLACES[place] or _pod_fields()


def misplaced(spec: Tree) -> Iterator[tuple[LeafPath, str]]:
    """Yield the path in a spec of each field that KServe does not have there, and what is right."""
    for place in _PLACES:
        for path in _paths(spec, place):
            for name, below in fields_at(spec, *path).items():
                if name not in _fields(place):
                    yield (*path, name), _remedy(place, path, name, below)


def _paths(spec: Tree, place: LeafPath) -> Iterator[LeafPath]:
    """Yield a place with the index of each item in place of `ANY`."""
    *above, last = place or (None,)
    if last == ANY:
        yield from ((*above, index) for index in range(len(items_at(spec, *above))))
    else:
        yield place


def _remedy(place: LeafPath, path: LeafPath, name: str, below: Tree) -> str:
    where = written(("spec", *path))
    drops = f"KServe has no field {name} in {where}, and drops it"
    inner = [key for key in below if key in _fields(place)] if isinstance(below, dict) else []
    if inner:
        return f"{drops}: write {', '.join(inner)} one level up, in {where}"
    if homes := [home for home in _PLACES if ANY not in home and name in _fields(home)]:
        return f"{drops}: write it in {'.'.join(('spec', *map(str, homes[0])))}"
    return f"{drops}{suggested(nearest(name, sorted(_fields(place)), 0.6))}"
