"""The page of versions: the rows of `catalog.versions`, later fields, and endpoint pickers."""

from collections.abc import Iterator, Mapping
from typing import Final

from catalog.engines import shown
from catalog.pickers.generations import OBJECTIVES_API, PICKERS, ROUTER_OBJECTIVES_API, Picker
from catalog.schemas import DISAGGREGATED_SET, LEADER_WORKER_SET, SINCE, with_later_fields
from catalog.versions import SYSTEMS, System
from hack.markdown import table
from intent import Object

CLUSTERS: Final = {
    "with 1.1 to 1.5": (OBJECTIVES_API,),
    "with 1.6 alone": (),
    "with 1.5, and llm-d's CRDs": (ROUTER_OBJECTIVES_API, OBJECTIVES_API),
}
"""The InferenceObjectives that clusters serve."""


def blocks() -> Mapping[str, str]:
    """Return the blocks of the page."""
    systems = [row for system in SYSTEMS for row in _releases(system)]
    later = [
        {"kind": name.removesuffix("Spec"), "field": f"`{path}`", "since": since}
        for name in (LEADER_WORKER_SET, DISAGGREGATED_SET)
        for path, since in _later(with_later_fields(name).root, "spec")
    ]
    pickers = [
        {
            "picker": f"`{row.name}`",
            "known": "tested" if row.tested else "by its sources",
            **{name: _with(row, served) for name, served in CLUSTERS.items()},
        }
        for row in PICKERS.values()
    ]
    return {"systems": table(systems), "later-fields": table(later), "clusters": table(pickers)}


def _later(schema: Object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the fields that earlier releases lack, with the release since which each is there."""
    if SINCE in schema:
        yield path, schema[SINCE]
    for name, below in schema.get("properties", {}).items():
        yield from _later(below, f"{path}.{name}")
    if "items" in schema:
        yield from _later(schema["items"], f"{path}[]")


def _releases(system: System) -> Iterator[dict[str, str]]:
    last = [(one.since[0], one.since[1] - 1) for one in system.releases[1:]]
    for release, end in zip(system.releases, (*last, system.newest), strict=True):
        later = f" to {shown(end)}" if release.since[:2] != end else ""
        yield {
            "system": system.name,
            "release": f"{shown(release.since)}{later}",
            "what works": release.works,
            "known": release.known,
        }


def _with(row: Picker, served: tuple[str, ...]) -> str:
    if not row.starts(served):
        return "does not start"
    first = row.reads(served)
    return "all" if first == OBJECTIVES_API else f"no priorities{', but of your own' if first else ''}"
