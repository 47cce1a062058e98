"""Checks of versions: what of ours works with the releases of a cluster, and what is too new to be known.

Kubernetes says its version, and the Gateway API and its Inference Extension annotate their definitions. Of
LeaderWorkerSet and Volcano the images of their controllers do, and later fields of their definitions.
"""

from collections.abc import Callable, Iterator
from typing import Final

from catalog.codes import Severity
from catalog.engines import shown
from catalog.pickers.generations import OBJECTIVES_API, PICKERS
from catalog.schemas import DISAGGREGATED_SET, LEADER_WORKER_SET, SINCE, with_later_fields
from catalog.versions import EXTENSION, GATEWAY_API, KUBERNETES, LWS, VOLCANO, System
from fusioninfer.cluster.check.facts import Facts, image_version, lws_manager, parsed, specs
from fusioninfer.cluster.check.row import BOTH, Check, Judgement, check, fails, holds, none_of, unknown
from fusioninfer.cluster.text import name_of
from intent import Object
from intent.annotations import PICKER, PRIORITY, SERVICE
from intent.shapes import annotations, labels, listed, mapping, text

DEFINITIONS: Final = {
    "lws-definition": "leaderworkersets.leaderworkerset.x-k8s.io",
    "set-definition": "disaggregatedsets.disaggregatedset.x-k8s.io",
    "podgroup-definition": "podgroups.scheduling.volcano.sh",
    "route-definition": "httproutes.gateway.networking.k8s.io",
    "pool-definition": "inferencepools.inference.networking.k8s.io",
}
"""Readings of definitions, by name."""
SCHEMAS: Final = {"lws-definition": LEADER_WORKER_SET, "set-definition": DISAGGREGATED_SET}


def _kubernetes(facts: Facts) -> str:
    return text(facts.answer("version").first.get("gitVersion"))


def _annotated(reading: str) -> Callable[[Facts], str]:
    """Return what reads the release from the annotation of a definition."""
    group = DEFINITIONS[reading].partition(".")[2]
    return lambda facts: text(annotations(facts.answer(reading).first).get(f"{group}/bundle-version"))


def _lws(facts: Facts) -> str | Judgement:
    later = ""
    for reading, name in SCHEMAS.items():
        for spec in specs(facts, reading):
            for path, since in fields_since(spec, with_later_fields(name).root, "spec"):
                if not since:
                    return _too_new(path)
                later = max(later, since.rpartition(" ")[2], key=parsed)
    return max(image_version(lws_manager(facts), "manager"), later, key=parsed)


def _volcano(facts: Facts) -> str | Judgement:
    for spec in specs(facts, "podgroup-definition"):
        if new := [name for name in mapping(spec.get("properties")) if name not in VOLCANO.fields]:
            return _too_new(f"spec.{new[0]}")
    return image_version(facts.answer("scheduler").first)


def _too_new(what: str) -> Judgement:
    return fails(f"too new to be known: {what}")


def fields_since(there: Object, known: Object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a schema that an earlier release lacks, with the release; empty: none is known.

    Pod templates are Kubernetes' own.
    """
    fields = mapping(known.get("properties"))
    if "containers" in mapping(mapping(fields.get("spec")).get("properties")):
        return
    if "items" in known:
        yield from fields_since(mapping(there.get("items")), mapping(known["items"]), f"{path}[]")
    for name, below in mapping(there.get("properties")).items():
        field, at = fields.get(name), f"{path}.{name}"
        if field is None:
            yield at, ""
            continue
        if SINCE in field:
            yield at, field[SINCE]
        yield from fields_since(mapping(below), field, at)


def _known(
    system: System,
    read: Callable[[Facts], str | Judgement],
    *readings: str,
    after: str = "",
    too_old: Severity = "warning",
) -> Check:
    """Return the check that the release of a system is known. `too_old`: how bad an older one is."""

    @check(
        f"{system.name.lower().replace(' ', '-')}-known",
        f"{system.name} is known: {shown(system.oldest)} to {shown(system.newest)}",
        "upgrade what is too old; if it is too new, read docs/versions.md of a later FusionInfer: what is "
        "new there is neither checked nor used",
        severity="warning",
        when=BOTH,
        after=(after,) if after else (),
    )
    def judge(facts: Facts) -> Judgement:
        found = read(facts)
        if isinstance(found, Judgement):
            return found
        version = parsed(found)
        if version[:2] in {(), (0, 0)}:  # a build without a version is 0.0.0
            why = next((why for one in readings if (why := facts.answer(one).unknown)), "")
            return unknown(why or f"nothing names a version of it: {found or 'no tag'}")
        if version[:2] > system.newest:
            return _too_new(found)
        release = system.release(version)
        return (
            holds(f"{found}, {release.known}: {release.works}")
            if release
            else fails(f"too old: {found}", too_old)
        )

    return judge


kubernetes: Final = _known(KUBERNETES, _kubernetes, "version", too_old="error")
lws: Final = _known(LWS, _lws, "lws-deployments", "lws-definition", after="lws-served")
volcano: Final = _known(
    VOLCANO, _volcano, "scheduler", "podgroup-definition", after="volcano-served", too_old="error"
)
gateway_api: Final = _known(
    GATEWAY_API, _annotated("route-definition"), "route-definition", after="gateway-api"
)
extension: Final = _known(
    EXTENSION, _annotated("pool-definition"), "pool-definition", after="inference-extension"
)

# --- priorities -------------------------------------------------------------------------------------

OBJECTIVES: Final = {
    f"resources/{version}": version
    for version in dict.fromkeys(one for row in PICKERS.values() for one in row.objectives)
}
"""Readings of what the groups of InferenceObjectives serve, with their apiVersions."""


@check(
    "priorities",
    "every endpoint picker starts with the CRDs that there are, and reads the priority of its service",
    "install the CRD inferenceobjectives of the Inference Extension 1.5, choose another "
    "fusioninfer.io/picker, or create the InferenceObjectives that it reads (docs/versions.md)",
    severity="warning",
    needs=(*OBJECTIVES, "pickers", "services", "sets"),
)
def priorities(facts: Facts) -> Judgement:
    """Judge whether endpoint pickers start, and find the InferenceObjectives of priorities."""
    served = [
        version
        for reading, version in OBJECTIVES.items()
        if any(
            mapping(one).get("name") == "inferenceobjectives"
            for one in listed(facts.answer(reading).first.get("resources"))
        )
    ]
    return none_of(list(_unread(facts, served)), "; ")


def _unread(facts: Facts, served: list[str]) -> Iterator[str]:
    asked = {_key(one, name_of(one)) for one in facts.answer("services").objects if _is_asked(one)}
    for one in facts.answer("sets").objects:
        if annotations(one).get(PRIORITY):
            asked.add(_key(one, text(annotations(one).get(SERVICE))))
    for one in facts.answer("pickers").objects:
        row, key = PICKERS.get(text(labels(one).get(PICKER))), _key(one, text(labels(one).get(SERVICE)))
        if row is None:
            continue
        where, first = "/".join(key), row.reads(served)
        if not row.starts(served):
            yield f"{where}: {row.name} does not start without {row.needs[0]}"
        elif key in asked and first != OBJECTIVES_API:
            reads = f"reads {first} alone" if first else "finds no InferenceObjectives"
            yield f"{where}: {row.name} {reads}"


def _is_asked(service: Object) -> bool:
    spec = mapping(service.get("spec"))
    adapters = map(mapping, listed(mapping(spec.get("lora")).get("adapters")))
    return any("priority" in one for one in (spec, *adapters))


def _key(obj: Object, service: str) -> tuple[str, str]:
    return text(mapping(obj.get("metadata")).get("namespace")), service
