"""Fields of a service or a base at places where KServe has no such field, and drops them.

Source: kserve `pkg/apis/serving/v1alpha2/llm_inference_service_types.go` v0.20.0; of pods, upstream's schema.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from importer.leaves import LeafPath, Tree, at
from intent.errors import nearest, suggested
from intent.inferenceservice import crd
from intent.shapes import mapping

WORKLOAD: Final = frozenset(
    {"replicas", "parallelism", "template", "worker", "labels", "annotations", "scaling", "kvCacheOffloading"}
)
SPEC: Final = WORKLOAD | {"model", "prefill", "router", "tracing", "storageInitializer", "baseRefs"}
_PLACES: Final[tuple[LeafPath, ...]] = (
    (),
    ("prefill",),
    *((*above, field) for above in ((), ("prefill",)) for field in ("template", "worker")),
)


@cache
def _pod_fields() -> frozenset[str]:
    """Return the fields of a PodSpec."""
    role = crd.schema()
    for step in ("spec", "roles", "template", "spec"):
        role = mapping(mapping(role.get("properties")).get(step))
        role = mapping(role.get("items")) or role
    return frozenset(mapping(role.get("properties")))


def _fields(place: LeafPath) -> frozenset[str]:
    if not place:
        return SPEC
    return WORKLOAD if place == ("prefill",) else _pod_fields()


def misplaced(spec: Tree) -> Iterator[tuple[LeafPath, str]]:
    """Yield the path in a spec of each field that KServe does not have there, and what is right."""
    for place in _PLACES:
        tree = at(spec, *place)
        for name, below in tree.items() if isinstance(tree, dict) else ():
            if name not in _fields(place):
                yield (*place, name), _remedy(place, name, below)


def _remedy(place: LeafPath, name: str, below: Tree) -> str:
    where = ".".join(("spec", *map(str, place)))
    drops = f"KServe has no field {name} in {where}, and drops it"
    inner = [key for key in below if key in _fields(place)] if isinstance(below, dict) else []
    if inner:
        return f"{drops}: write {', '.join(inner)} one level up, in {where}"
    if homes := [home for home in _PLACES[:4] if name in _fields(home)]:
        return f"{drops}: write it in {'.'.join(('spec', *map(str, homes[0])))}"
    return f"{drops}{suggested(nearest(name, sorted(_fields(place)), 0.6))}"
