"""LeaderWorkerSets whose templates were changed or deleted since admission read them, and their refresh.

A refresh changes the annotation `fusioninfer.io/refresh` of what its author wrote: the LeaderWorkerSet, or
the InferenceService that it belongs to. Which templates there are now, and whether groups restart, is what
the API server and all webhooks answer to a dry run of it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from fusioninfer.cluster.reader import FAILED, NotFoundError, Reader, why
from fusioninfer.cluster.text import WRITTEN, is_named, name_of
from intent import Object
from intent.annotations import EXPANSION, REFRESH
from intent.applied import TemplateVersion, base_of, recorded
from intent.shapes import annotations, listed, mapping, metadata, text
from kube.request import Request
from sync.kinds import LWS

MANAGER: Final = "fusioninfer-refresh"
"""The field manager of the annotation."""


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


async def outdated(reader: Reader, namespace: str, *, template: str, word: str) -> tuple[Outdated, ...]:
    """Return the LeaderWorkerSets that have older templates, by a dry run of each that names some.

    `namespace`: theirs; empty: all. `template`: only those that name it. `word`: only this service, or this
    object. Raises `UnreachableError` if the cluster cannot be read, `NotFoundError` if there is nothing of
    the name.
    """
    await reader.reach()
    answer = await reader.every(LWS.path(namespace) if namespace else LWS.resource.collection)
    meant = [lws for lws in answer.known(LWS.resource.plural) if not word or is_named(lws, word)]
    if word and not meant:
        raise NotFoundError(f"{word}: not found; check the name, -n and --context")
    rows = await asyncio.gather(*(_outdated(reader, lws, template) for lws in meant))
    return tuple(sorted((row for row in rows if row), key=lambda row: (row.namespace, row.name)))


async def _outdated(reader: Reader, lws: Object, template: str) -> Outdated | None:
    """Return a LeaderWorkerSet with what became of its templates; None if they are as they were.

    One that is being deleted starts no pods, and is left out.
    """
    of, read = metadata(lws), recorded(annotations(lws).get(EXPANSION))
    if not read or of.get("deletionTimestamp") or template not in {"", *(was.name for was in read)}:
        return None
    home, own = text(of.get("namespace")), name_of(lws)
    answer, problem = await _annotated(reader, LWS.path(home, own), text(of.get("uid")), dryRun="All")
    record = annotations(answer).get(EXPANSION)
    now = {version.name: version for version in recorded(record)}
    changes = tuple(_change(was, now[was.name]) for was in read if now.get(was.name, was) != was)
    if not (problem or now):  # admission says in the record why it could not read them
        faults = [text(fault[-1]) for fault in map(listed, listed(base_of(record).get("faults"))) if fault]
        problem = "; ".join(faults) or "admission says nothing of its templates"
    if not (changes or problem):
        return None
    owners = map(mapping, listed(of.get("ownerReferences")))
    author = next((owner for owner in owners if owner.get("controller") is True), of | {"kind": LWS.kind})
    kind, name, uid = (text(author.get(key)) for key in ("kind", "name", "uid"))
    path = WRITTEN[kind].path(home, name) if kind in WRITTEN else ""
    if not path and not problem:
        problem = f"{kind} {name} writes it: change the template of the role there"
    before, after = (mapping(obj.get("spec")).get("leaderWorkerTemplate") for obj in (lws, answer))
    return Outdated(home, own, path, uid, changes, not problem and before != after, problem)


def _change(was: TemplateVersion, now: TemplateVersion) -> str:
    """Return what became of a template."""
    other = "" if now.namespace == was.namespace else f" of {now.namespace}/{now.name}"
    versions = f"generation {was.generation}, now {now.generation}{other}"
    return f"InferenceTemplate {was.namespace}/{was.name} was changed ({versions})"


async def refreshed(reader: Reader, rows: Sequence[Outdated]) -> tuple[Outdated, ...]:
    """Refresh LeaderWorkerSets; an InferenceService once for all of its roles."""
    uids = {row.path: row.uid for row in rows}
    problems = {path: (await _annotated(reader, path, uid))[1] for path, uid in uids.items()}
    return tuple(replace(row, problem=problems[row.path]) for row in rows)


async def _annotated(reader: Reader, path: str, uid: str, **query: str) -> tuple[Object, str]:
    """Give the annotation of an object another value; return the object, or what is wrong.

    The uid is sent too: another object of its name is not refreshed.
    """
    value = datetime.now(UTC).isoformat(timespec="microseconds")
    body = {"metadata": {"annotations": {REFRESH: value}, **({"uid": uid} if uid else {})}}
    try:
        return await reader.send(Request("patch", path, {"fieldManager": MANAGER, **query}, body)), ""
    except FAILED as error:
        return {}, why(error)
