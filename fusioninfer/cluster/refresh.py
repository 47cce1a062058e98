"""LeaderWorkerSets whose templates were changed or deleted since admission read them, and their refresh.

A refresh changes the annotation `fusioninfer.io/refresh` of what its author wrote: the LeaderWorkerSet, or
the InferenceService that it belongs to. Whether groups restart is what the API server and all webhooks answer
to a dry run of it.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

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
Versions = Mapping[tuple[str, str], TemplateVersion]
"""The templates of now, by namespace and name."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """A LeaderWorkerSet with older templates."""

    lws: Object
    author: Object
    """Kind, name and uid of the object that its author wrote: its controlling owner, or itself."""
    value: str
    """The value of the annotation, which names the templates of now."""
    changes: tuple[str, ...]
    """What became of its templates."""
    problem: str = ""
    """Why it cannot take them; empty if it can."""
    rolls: bool = False
    """Whether its groups restart when it takes the templates of now."""

    @property
    def namespace(self) -> str:
        """The namespace of the LeaderWorkerSet."""
        return text(metadata(self.lws).get("namespace"))

    @property
    def written(self) -> str:
        """What messages call the object that its author wrote."""
        return f"{self.author.get('kind')} {self.author.get('name')}"

    def __str__(self) -> str:
        """Return what messages call the LeaderWorkerSet."""
        return f"{self.namespace}/{name_of(self.lws)}"


async def outdated(
    reader: Reader, namespace: str, shared: str, *, template: str, named: Named | None
) -> tuple[Outdated, ...]:
    """Return the LeaderWorkerSets that have older templates, each tried as a dry run.

    `namespace`: theirs; empty: all. `shared`: the namespace whose templates serve all. `template`: only those
    that name it. `named`: only this service, or this object. Raises `UnreachableError` if the cluster cannot
    be read, `NotFoundError` if there is nothing of the name.
    """
    await reader.reach()
    sets = await _list(reader, LWS, namespace)
    meant = [lws for lws in sets if named is None or _is_meant(lws, named)]
    if named and not meant:
        raise NotFoundError(f"{named.name}: not found; check the name, -n and --context")
    homes = dict.fromkeys((namespace, shared) if namespace else ("",))
    lists = await asyncio.gather(*(_list(reader, TEMPLATES, home) for home in homes))
    versions = {(now.namespace, now.name): now for now in map(_version, chain.from_iterable(lists))}
    rows = [row for lws in meant if (row := _outdated(lws, versions, shared, template))]
    return tuple(sorted(await asyncio.gather(*(_tried(reader, row) for row in rows)), key=str))


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


def _outdated(lws: Object, versions: Versions, shared: str, template: str) -> Outdated | None:
    """Return a LeaderWorkerSet with what became of its templates; None if they are as they were.

    One that is being deleted starts no pods, and is left out.
    """
    of, read = metadata(lws), recorded(annotations(lws).get(EXPANSION))
    home = text(of.get("namespace"))
    now = [versions.get((home, was.name)) or versions.get((shared, was.name)) for was in read]
    changed = [pair for pair in zip(read, now, strict=True) if pair[0] != pair[1]]
    if not changed or of.get("deletionTimestamp") or template not in {"", *(was.name for was in read)}:
        return None
    owners = map(mapping, listed(of.get("ownerReferences")))
    author = next((owner for owner in owners if owner.get("controller") is True), of | {"kind": LWS.kind})
    value = digest([list(new) for _, new in changed if new]).hex()[:LENGTH]
    row = Outdated(lws, author, value, tuple(_change(*pair) for pair in changed))
    if gone := " and ".join(was.name for was, new in changed if new is None):
        return replace(row, problem=f"create {gone} again, or change base-refs of {row.written}")
    if author.get("kind") not in WRITTEN:
        return replace(row, problem=f"{row.written} writes it: change the template of the role there")
    return row


def _change(was: TemplateVersion, now: TemplateVersion | None) -> str:
    """Return what became of a template."""
    name = f"InferenceTemplate {was.namespace}/{was.name}"
    if now is None:
        return f"{name} was deleted"
    other = "" if now.namespace == was.namespace else f" of {now.namespace}/{now.name}"
    return f"{name} was changed (generation {was.generation}, now {now.generation}{other})"


async def _tried(reader: Reader, row: Outdated) -> Outdated:
    """Try a refresh as a dry run."""
    if row.problem:
        return row
    answer, problem = await _sent(reader, row, LWS, metadata(row.lws), {"dryRun": "All"})
    before, after = (mapping(obj.get("spec")).get("leaderWorkerTemplate") for obj in (row.lws, answer))
    return replace(row, problem=problem, rolls=not problem and before != after)


async def refreshed(reader: Reader, rows: Iterable[Outdated]) -> tuple[Outdated, ...]:
    """Refresh LeaderWorkerSets; an InferenceService once for all of its roles."""
    problems: dict[tuple[str, str], str] = {}
    done = []
    for row in rows:
        key = row.namespace, row.written
        if key not in problems:
            _, problems[key] = await _sent(reader, row, WRITTEN[row.author["kind"]], row.author, {})
        done.append(replace(row, problem=problems[key]))
    return tuple(done)


async def _sent(
    reader: Reader, row: Outdated, kind: Kind[Any], of: Object, query: Mapping[str, str]
) -> tuple[Object, str]:
    """Change the annotation of an object; return the object, or what is wrong.

    The uid is sent too: another object of its name is not refreshed.
    """
    uid = {"uid": of["uid"]} if of.get("uid") else {}
    body = {"metadata": {"annotations": {REFRESH: row.value}, **uid}}
    path = kind.path(row.namespace, text(of.get("name")))
    try:
        return await reader.send(Request("patch", path, {"fieldManager": MANAGER, **query}, body)), ""
    except (ApiError, *NO_ANSWER) as error:
        return {}, why(error)
