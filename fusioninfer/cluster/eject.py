"""`fusioninfer eject`: plain manifests of a service, and the steps in which one leaves without a restart.

The pods of ejected LeaderWorkerSets keep their PodGroup, and their router its routes: what the controller
made stays without our marks of ownership. Nothing of a pod template changes, so nothing restarts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from fusioninfer.cluster.reader import Reader
from fusioninfer.cluster.service import find, read_live, require
from fusioninfer.cluster.text import described, name_of, service_of
from intent import Object
from intent.annotations import PAUSED, PREFIX, SERVICE
from intent.commands import command, named
from intent.inferenceservice import v1alpha1
from intent.service.member import ejected, member
from intent.shapes import annotations, labels, listed, mapping
from sync.kinds import AUTOSCALER, INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP, ROUTE_KINDS, Kind, is_ours
from sync.observed.cached import SET_BY_SERVER
from webhook.overlay.written import LAST_APPLIED

LABELLED: Final[tuple[Kind[Any], ...]] = (AUTOSCALER, *ROUTE_KINDS)
KINDS: Final[tuple[Kind[Any], ...]] = (LWS, INFERENCE_SERVICE, POD_GROUP, *LABELLED)


@dataclass(frozen=True, slots=True)
class LiveService:
    """What the cluster holds for one service, as the API server returns it."""

    namespace: str
    name: str
    inferenceservice: Object = field(default_factory=dict)
    """Empty if there is none."""
    members: tuple[Object, ...] = ()
    """The LeaderWorkerSets that admission expanded, those that were ejected since included."""
    others: tuple[Object, ...] = ()
    """The PodGroups that its members name; autoscalers and objects of routes with its label, of any owner."""

    @property
    def made(self) -> tuple[Object, ...]:
        """The objects that the controller made for this service, by its own rule of ownership."""
        owners = (*self.members, *([self.inferenceservice] if self.inferenceservice else ()))
        uids = frozenset(one["metadata"].get("uid", "") for one in owners)
        rows = ((obj, OUTPUTS[obj["kind"]]) for obj in self.others)
        return tuple(
            obj
            for obj, kind in rows
            if (row := kind.project(obj)) is not None and is_ours(kind, row, self.name, uids)
        )


async def read_service(reader: Reader, word: str, namespace: str) -> LiveService:
    """Read the service of an object, which `word` names: NAME, lws/NAME or isvc/NAME.

    Raises `NotFoundError`; `UnreachableError` unless everything can be read: what is missing would not be
    ejected.
    """
    await reader.reach()
    live = await read_live(reader, namespace)
    require(live.objects, KINDS, namespace)
    obj, service = find(live, word, namespace)
    name = service or name_of(obj)
    own = [(lws, one) for lws in live.of(LWS) if (one := member(lws) or ejected(lws))]
    members = [(lws, one) for lws, one in own if service_of(lws) == name]
    gangs = {name, *(one.gang for _, one in members)}
    groups = (one for one in live.of(POD_GROUP) if name_of(one) in gangs)
    others = (one for kind in LABELLED for one in live.of(kind) if labels(one).get(SERVICE) == name)
    isvc = live.answer(INFERENCE_SERVICE.kind).named(name)
    return LiveService(namespace, name, isvc, tuple(lws for lws, _ in members), (*groups, *others))


def problems_of(service: LiveService) -> Iterator[str]:
    """Yield why a service cannot be ejected."""
    if not service.members:
        where = f"service {service.namespace}/{service.name}"
        yield f"{where}: no LeaderWorkerSet has a record of an expansion: there is nothing to eject"
    groups = {name_of(one) for one in service.others if one["kind"] == POD_GROUP.kind}
    for lws in service.members:
        metadata, one = lws["metadata"], member(lws) or ejected(lws)
        if metadata.get("deletionTimestamp"):
            yield f"{described(lws)}: is being deleted; wait until it is gone"
            continue
        for owner in map(mapping, listed(metadata.get("ownerReferences"))):
            if owner.get("controller") is True and not is_our_owner(owner):
                named = f"{owner.get('kind')} {owner.get('name')}"
                yield f"{described(lws)}: {named} writes its annotations again; remove them there"
        if one and one.scheduler and one.gang not in groups:
            yield (
                f"{described(lws)}: its pods wait for PodGroup {one.gang}, which does not exist; "
                f"eject it once its Events no longer name a missing role"
            )


def is_our_owner(reference: Object) -> bool:
    """Return whether an owner is one of ours: an InferenceService, or the members of a service."""
    return reference.get("kind") == LWS.kind or reference.get("apiVersion") == v1alpha1.API_VERSION


# --- manifests ------------------------------------------------------------------------------------

OF_STORED: Final = SET_BY_SERVER | {"generateName"}
"""Fields of the metadata that belong to one stored object."""
SET_BY_CLIENTS: Final = frozenset({LAST_APPLIED, "deployment.kubernetes.io/revision"})
"""Annotations that belong to one stored object."""
ALLOCATED: Final = {"Service": frozenset({"clusterIP", "clusterIPs"})}
"""Fields of the spec that the API server allocates, by kind."""


def manifests(service: LiveService) -> tuple[Object, ...]:
    """Return the manifests of a service without problems, in the order in which they are applied."""
    return tuple(plain(one) for one in (*service.made, *service.members))


def plain(obj: Object) -> Object:
    """Return a stored object as a manifest without our marks."""
    owners = listed(obj["metadata"].get("ownerReferences"))
    found = manifest(
        obj,
        annotations=_without_marks(annotations(obj)),
        labels=labels(obj) if obj["kind"] == LWS.kind else _without_marks(labels(obj)),
        ownerReferences=[owner for owner in owners if not is_our_owner(mapping(owner))],
    )
    if allocated := ALLOCATED.get(obj["kind"]):
        found["spec"] = {key: value for key, value in obj["spec"].items() if key not in allocated}
    return found


def manifest(obj: Object, **others: Any) -> Object:
    """Return an object without status and what a server sets; `others`: fields that its metadata has instead.

    Fields of the metadata that are empty are left out.
    """
    known = {key: others.get(key, value) for key, value in obj["metadata"].items() if key not in OF_STORED}
    kept = {key: value for key, value in known.items() if value}
    return {key: value for key, value in obj.items() if key != "status"} | {"metadata": kept}


def _without_marks(values: Object) -> Object:
    kept = (key for key in values if not key.startswith(PREFIX) and key not in SET_BY_CLIENTS)
    return {key: values[key] for key in kept}


# --- steps ----------------------------------------------------------------------------------------
#
# The controller leaves the PodGroup and the routes of ejected LeaderWorkerSets as they are. The garbage
# collector deletes them with their owners, and the controller adds owners while the service has members: so
# annotations and record are removed first, together, and the owners afterwards.

FILE: Final = "ejected.yaml"
"""The name of the file in the commands of the steps."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of leaving, with its command; empty if it is not one command."""

    description: str
    command: str = ""


NO_OWNERS: Final = orjson.dumps({"metadata": {"ownerReferences": None}}).decode()


def steps(service: LiveService) -> Iterator[Instruction]:
    """Yield the steps in which the controller deletes nothing and admission reverts nothing."""
    yield Instruction(f"Save the output as {FILE}. Suspend what applies the old files (Argo CD, Flux, Helm).")
    this = service.inferenceservice
    paused = _named(INFERENCE_SERVICE, (this,)) if this else []
    if this:
        yield Instruction(
            f"Pause the controller for service {service.name}: it would annotate its LeaderWorkerSets again.",
            _kubectl(service, "annotate", *paused, f"{PAUSED}=true", "--overwrite"),
        )
    for lws in service.members:
        keys = [key for key in mapping(lws["metadata"].get("annotations")) if key.startswith(PREFIX)]
        if keys:
            removed = (f"{named(key)}-" for key in sorted(keys))
            yield Instruction(
                "Remove annotations and record in one write: the object stays expanded, no pod restarts.",
                _kubectl(service, "annotate", *_named(LWS, (lws,)), *removed),
            )
    owned = [name for obj in service.made for name in _named(OUTPUTS[obj["kind"]], (obj,))]
    owned += _named(LWS, service.members) if this else []
    if owned:
        yield Instruction(
            "Remove the owners: what the controller made is yours, and outlives each LeaderWorkerSet.",
            _kubectl(service, "patch", *owned, "--type=merge", f"--patch={NO_OWNERS}"),
        )
    if this:
        deleted = _kubectl(service, "delete", *paused, "--cascade=orphan")
        yield Instruction("Delete the InferenceService alone.", deleted)
    yield Instruction("Compare: nothing may differ.", command("kubectl", "diff", "-f", FILE))
    yield Instruction(f"Keep {FILE} in place of the old files.", command("kubectl", "apply", "-f", FILE))


def _named(kind: Kind[Any], objects: Iterable[Object]) -> list[str]:
    """Return objects as kubectl names them, with the group: other products have such kinds too."""
    group, slash, _ = kind.resource.api_version.partition("/")
    resource = f"{kind.resource.plural}.{group}" if slash else kind.resource.plural
    return [f"{resource}/{named(one['metadata']['name'])}" for one in objects]


def _kubectl(service: LiveService, *words: str) -> str:
    return command("kubectl", "--namespace", named(service.namespace), *words)
