"""LeaderWorkerSets whose templates were changed or deleted since admission read them, and their refresh.

A refresh changes the annotation `fusioninfer.io/refresh` of what its author wrote: the LeaderWorkerSet, or
the InferenceService that it belongs to. Whether groups restart is what the API server and all webhooks answer
to a dry run of it.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, NamedTuple

from fusioninfer.cluster.reader import NotFoundError, Reader, UnreachableError, why
from fusioninfer.cluster.service import TEMPLATES
from fusioninfer.cluster.text import Named, name_of, service_of
from intent import Object
from intent.annotations import EXPANSION, REFRESH
from intent.applied import TemplateVersion, recorded
from intent.shapes import annotations, listed, mapping, metadata, number, text
from kube.client import NO_ANSWER, ApiError
from kube.request import Request
from sync.kinds import INFERENCE_SERVICE, LWS, Kind
from sync.observed.cached import digest

MANAGER: Final = "fusioninfer-refresh"
"""The field manager of the annotation."""
WRITTEN: Final[Mapping[str, Kind[Any]]] = {kind.kind: kind for kind in (LWS, INFERENCE_SERVICE)}
"""The kinds of which an author writes objects."""
LENGTH: Final = 16
"""Characters of the value of the annotation."""


class TemplateChange(NamedTuple):
    """A template that is not as it was read; `now` is None if it was deleted."""

    read: TemplateVersion
    now: TemplateVersion | None

    def __str__(self) -> str:
        """Return what became of it."""
        name = f"InferenceTemplate {self.read.namespace}/{self.read.name}"
        if self.now is None:
            return f"{name} was deleted"
        is_other = self.now.namespace != self.read.namespace
        other = f" of {self.now.namespace}/{self.now.name}" if is_other else ""
        return f"{name} was changed (generation {self.read.generation}, now {self.now.generation}{other})"


class Written(NamedTuple):
    """An object that an author wrote. The uid: another object of its name is not refreshed."""

    kind: str
    name: str
    uid: str

    def __str__(self) -> str:
        """Return what messages call it."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Outdated:
    """A LeaderWorkerSet with older templates."""

    lws: Object
    changes: tuple[TemplateChange, ...]
    rolls: bool = False
    """Whether its groups restart when it takes the templates of now."""
    problem: str = ""
    """Why it cannot take them; empty if it can."""

    @property
    def namespace(self) -> str:
        """The namespace of the LeaderWorkerSet."""
        return text(metadata(self.lws).get("namespace"))

    def __str__(self) -> str:
        """Return what messages call the LeaderWorkerSet."""
        return f"{self.namespace}/{name_of(self.lws)}"

    @property
    def written(self) -> Written:
        """The object that its author wrote: its controlling owner, or itself."""
        itself = metadata(self.lws) | {"kind": LWS.kind}
        owners = map(mapping, listed(itself.get("ownerReferences")))
        found = next((one for one in owners if one.get("controller") is True), itself)
        return Written(text(found.get("kind")), text(found.get("name")), text(found.get("uid")))


async def outdated(
    reader: Reader, namespace: str, shared: str, *, template: str, named: Named | None
) -> tuple[Outdated, ...]:
    """Return the LeaderWorkerSets that have older templates, each tried as a dry run.

    `namespace`: theirs; empty: all. `shared`: the namespace whose templates serve all. `template`: only those
    that name it. `named`: only this service, or this object. One that is being deleted starts no pods, and is
    left out. Raises `UnreachableError` if the cluster cannot be read, `NotFoundError` if there is nothing of
    the name.
    """
    await reader.reach()
    sets = await _list(reader, LWS, namespace)
    meant = [one for one in sets if named is None or _is_meant(one, named)]
    if named and not meant:
        raise NotFoundError(f"{named.name}: not found; check the name, -n and --context")
    homes = dict.fromkeys((namespace, shared) if namespace else ("",))
    lists = await asyncio.gather(*(_list(reader, TEMPLATES, home) for home in homes))
    versions = {(one.namespace, one.name): one for one in map(_version, chain.from_iterable(lists))}
    rows = []
    for lws in meant:
        read, home = recorded(annotations(lws).get(EXPANSION)), text(metadata(lws).get("namespace"))
        is_named = not template or template in {one.name for one in read}
        now = (versions.get((home, one.name)) or versions.get((shared, one.name)) for one in read)
        changes = tuple(TemplateChange(*pair) for pair in zip(read, now, strict=True) if pair[0] != pair[1])
        if changes and is_named and not metadata(lws).get("deletionTimestamp"):
            rows.append(Outdated(lws, changes))
    tried = await asyncio.gather(*(_tried(reader, row) for row in rows))
    return tuple(sorted(tried, key=str))


def _is_meant(lws: Object, named: Named) -> bool:
    """Return whether a LeaderWorkerSet is named, or its service."""
    names = {LWS.kind: {name_of(lws)}, INFERENCE_SERVICE.kind: {service_of(lws)}}
    return named.name in names.get(named.kind, {name_of(lws), service_of(lws)})


async def _list(reader: Reader, kind: Kind[Any], namespace: str) -> tuple[Object, ...]:
    """List the objects of a namespace, or of all."""
    answer = await reader.every(kind.path(namespace) if namespace else kind.resource.collection)
    if answer.unknown:
        raise UnreachableError(f"cannot list {kind.resource.plural}: {answer.unknown}")
    return answer.objects


def _version(template: Object) -> TemplateVersion:
    of = metadata(template)
    return TemplateVersion(
        name_of(template), text(of.get("namespace")), text(of.get("uid")), number(of.get("generation"))
    )


async def _tried(reader: Reader, row: Outdated) -> Outdated:
    """Try a refresh as a dry run."""
    gone = " and ".join(change.read.name for change in row.changes if change.now is None)
    if gone:
        return replace(row, problem=f"create {gone} again, or change base-refs of {row.written}")
    if row.written.kind not in WRITTEN:
        return replace(row, problem=f"{row.written} writes it: change the template of the role there")
    path = LWS.path(row.namespace, name_of(row.lws))
    answer, problem = await _sent(reader, path, row, dry_run=True)
    before, after = (mapping(one.get("spec")).get("leaderWorkerTemplate") for one in (row.lws, answer))
    return replace(row, problem=problem, rolls=not problem and before != after)


async def refreshed(reader: Reader, rows: Iterable[Outdated]) -> tuple[Outdated, ...]:
    """Refresh LeaderWorkerSets; an InferenceService once for all of its roles."""
    problems: dict[str, str] = {}
    done = []
    for row in rows:
        path = WRITTEN[row.written.kind].path(row.namespace, row.written.name)
        if path not in problems:
            _, problems[path] = await _sent(reader, path, row, dry_run=False)
        done.append(replace(row, problem=problems[path]))
    return tuple(done)


async def _sent(reader: Reader, path: str, row: Outdated, *, dry_run: bool) -> tuple[Object, str]:
    """Change the annotation, whose value names the templates of now; return the object, or what is wrong."""
    value = digest([list(change.now) for change in row.changes if change.now]).hex()[:LENGTH]
    query = {"fieldManager": MANAGER, **({"dryRun": "All"} if dry_run else {})}
    uid = metadata(row.lws).get("uid") if dry_run else row.written.uid
    body = {"metadata": {"annotations": {REFRESH: value}, **({"uid": uid} if uid else {})}}
    try:
        return await reader.send(Request("patch", path, query, body)), ""
    except (ApiError, *NO_ANSWER) as error:
        return {}, why(error)
