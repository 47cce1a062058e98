"""LeaderWorkerSets whose templates were changed or deleted since admission read them, and their refresh.

A refresh changes the annotation `fusioninfer.io/refresh` of what its author wrote: the LeaderWorkerSet, or
the InferenceService that it belongs to. Whether groups restart is what the API server and all webhooks answer
to a dry run of it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from fusioninfer.cluster.reader import NotFoundError, Reader, UnreachableError, why
from fusioninfer.cluster.service import TEMPLATES
from fusioninfer.cluster.text import is_named, name_of
from intent import Object
from intent.annotations import EXPANSION, REFRESH
from intent.applied import TemplateVersion, recorded
from intent.shapes import annotations, listed, mapping, metadata, number, text
from kube.client import NO_ANSWER, ApiError
from kube.request import Request
from sync.kinds import INFERENCE_SERVICE, LWS, Kind

MANAGER: Final = "fusioninfer-refresh"
"""The field manager of the annotation."""
WRITTEN: Final[Mapping[str, Kind[Any]]] = {kind.kind: kind for kind in (LWS, INFERENCE_SERVICE)}
"""The kinds of which an author writes objects."""
Versions = Mapping[tuple[str, str], TemplateVersion]
"""The templates of now, by namespace and name."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """A LeaderWorkerSet with older templates."""

    namespace: str
    name: str
    path: str
    """The path of the object that its author wrote: itself, or its owner. Empty if it cannot be annotated."""
    uid: str
    """The uid of that object."""
    changes: tuple[str, ...]
    """What became of its templates."""
    restarts: bool = False
    """Whether its groups restart when it takes the templates of now."""
    problem: str = ""
    """Why it cannot take them; empty if it can."""


async def outdated(
    reader: Reader, namespace: str, shared: str, *, template: str, word: str
) -> tuple[Outdated, ...]:
    """Return the LeaderWorkerSets that have older templates, each tried as a dry run.

    `namespace`: theirs; empty: all. `shared`: the namespace whose templates serve all. `template`: only those
    that name it. `word`: only this service, or this object. Raises `UnreachableError` if the cluster cannot
    be read, `NotFoundError` if there is nothing of the name.
    """
    await reader.reach()
    homes = dict.fromkeys((namespace, shared) if namespace else ("",))
    sets, *lists = await asyncio.gather(
        _list(reader, LWS, namespace), *(_list(reader, TEMPLATES, home) for home in homes)
    )
    meant = [lws for lws in sets if not word or is_named(lws, word)]
    if word and not meant:
        raise NotFoundError(f"{word}: not found; check the name, -n and --context")
    versions = {(now.namespace, now.name): now for objects in lists for now in map(_version, objects)}
    rows = await asyncio.gather(*(_outdated(reader, lws, versions, shared, template) for lws in meant))
    return tuple(sorted((row for row in rows if row), key=lambda row: (row.namespace, row.name)))


async def _list(reader: Reader, kind: Kind[Any], namespace: str) -> tuple[Object, ...]:
    """List the objects of a namespace, or of all."""
    answer = await reader.every(kind.path(namespace) if namespace else kind.resource.collection)
    if answer.unknown:
        raise UnreachableError(f"cannot list {kind.resource.plural}: {answer.unknown}")
    return answer.objects


def _version(template: Object) -> TemplateVersion:
    of = metadata(template)
    name, namespace, uid = (text(of.get(key)) for key in ("name", "namespace", "uid"))
    return TemplateVersion(name, namespace, uid, number(of.get("generation")))


async def _outdated(
    reader: Reader, lws: Object, versions: Versions, shared: str, template: str
) -> Outdated | None:
    """Return a LeaderWorkerSet with what became of its templates; None if they are as they were.

    One that is being deleted starts no pods, and is left out.
    """
    of, read = metadata(lws), recorded(annotations(lws).get(EXPANSION))
    home, names = text(of.get("namespace")), [was.name for was in read]
    now = [versions.get((home, name)) or versions.get((shared, name)) for name in names]
    changes = tuple(_change(*pair) for pair in zip(read, now, strict=True) if pair[0] != pair[1])
    if not changes or of.get("deletionTimestamp") or template not in {"", *names}:
        return None
    owners = map(mapping, listed(of.get("ownerReferences")))
    author = next((owner for owner in owners if owner.get("controller") is True), of | {"kind": LWS.kind})
    kind, name, uid = (text(author.get(key)) for key in ("kind", "name", "uid"))
    path = WRITTEN[kind].path(home, name) if kind in WRITTEN else ""
    row = Outdated(home, name_of(lws), path, uid, changes)
    if gone := " and ".join(was for was, new in zip(names, now, strict=True) if new is None):
        return replace(row, problem=f"create {gone} again, or change base-refs of {kind} {name}")
    if not path:
        return replace(row, problem=f"{kind} {name} writes it: change the template of the role there")
    answer, problem = await _annotated(reader, LWS.path(home, row.name), text(of.get("uid")), dryRun="All")
    before, after = (mapping(obj.get("spec")).get("leaderWorkerTemplate") for obj in (lws, answer))
    return replace(row, problem=problem, restarts=not problem and before != after)


def _change(was: TemplateVersion, now: TemplateVersion | None) -> str:
    """Return what became of a template."""
    name = f"InferenceTemplate {was.namespace}/{was.name}"
    if now is None:
        return f"{name} was deleted"
    other = "" if now.namespace == was.namespace else f" of {now.namespace}/{now.name}"
    return f"{name} was changed (generation {was.generation}, now {now.generation}{other})"


async def refreshed(reader: Reader, rows: Sequence[Outdated]) -> tuple[Outdated, ...]:
    """Refresh LeaderWorkerSets; an InferenceService once for all of its roles."""
    problems: dict[str, str] = {}
    for row in rows:
        if row.path not in problems:
            _, problems[row.path] = await _annotated(reader, row.path, row.uid)
    return tuple(replace(row, problem=problems[row.path]) for row in rows)


async def _annotated(reader: Reader, path: str, uid: str, **query: str) -> tuple[Object, str]:
    """Give the annotation of an object another value; return the object, or what is wrong.

    The uid is sent too: another object of its name is not refreshed.
    """
    value = datetime.now(UTC).isoformat(timespec="microseconds")
    body = {"metadata": {"annotations": {REFRESH: value}, **({"uid": uid} if uid else {})}}
    try:
        return await reader.send(Request("patch", path, {"fieldManager": MANAGER, **query}, body)), ""
    except (ApiError, *NO_ANSWER) as error:
        return {}, why(error)
