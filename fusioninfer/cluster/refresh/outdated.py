"""LeaderWorkerSets whose templates were changed or deleted since admission read them, and their refresh.

A refresh changes the annotation `fusioninfer.io/refresh` of what its author wrote: the LeaderWorkerSet, or
the InferenceService that it belongs to. Whether groups restart is what the API server and all webhooks answer
to a dry run of it.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from fusioninfer.cluster.reader import Reader, UnreachableError
from fusioninfer.cluster.refresh.writing import FailedError, sent
from intent import Object
from intent.annotations import EXPANSION, REFRESH
from intent.applied import TemplateVersion, recorded
from intent.inferenceservice.v1alpha1 import API_VERSION
from intent.inferenceservice.v1alpha1 import KIND as SERVICE
from intent.inferencetemplate.v1alpha1 import PLURAL
from intent.names import api_path
from intent.shapes import annotations, listed, mapping, metadata, number, text
from kube.request import Request
from sync.kinds import INFERENCE_SERVICE, LWS
from sync.observed.cached import digest

MANAGER: Final = "fusioninfer-refresh"
"""The field manager of the annotation."""
LENGTH: Final = 16
"""Characters of the value of the annotation."""
TemplateKey = tuple[str, str]
"""Namespace and name of a template."""


@dataclass(frozen=True, slots=True)
class TemplateChange:
    """A template that is not as it was read."""

    read: TemplateVersion
    now: TemplateVersion | None
    """None: it was deleted."""

    def __str__(self) -> str:
        """Return what became of it."""
        one = f"InferenceTemplate {self.read.namespace}/{self.read.name}"
        if self.now is None:
            return f"{one} was deleted"
        if self.now.namespace != self.read.namespace:
            return f"{one} gave way to {self.now.namespace}/{self.now.name}"
        if self.now.uid != self.read.uid:
            return f"{one} was made again"
        return f"{one} was changed (generation {self.read.generation}, now {self.now.generation})"


@dataclass(frozen=True, slots=True)
class Outdated:
    """A LeaderWorkerSet with older templates."""

    lws: Object
    changes: tuple[TemplateChange, ...]
    rolls: bool = False
    """Whether its groups restart when it takes the templates of now."""
    problem: str = ""
    """Why it cannot take them; empty if it can."""
    is_refreshed: bool = False

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return text(metadata(self.lws).get("namespace"))

    @property
    def name(self) -> str:
        """Its name."""
        return text(metadata(self.lws).get("name"))

    @property
    def owner(self) -> Object:
        """The owner that writes it; empty if its author does."""
        owners = map(mapping, listed(metadata(self.lws).get("ownerReferences")))
        return next((one for one in owners if one.get("controller") is True), {})

    @property
    def written(self) -> tuple[str, str]:
        """The path of the object to annotate, and what messages call it; empty if there is none."""
        if not self.owner:
            return LWS.path(self.namespace, self.name), f"LeaderWorkerSet {self.name}"
        name = text(self.owner.get("name"))
        if self.owner.get("kind") == SERVICE:
            return INFERENCE_SERVICE.path(self.namespace, name), f"{SERVICE} {name}"
        return "", f"{text(self.owner.get('kind'))} {name}"

    @property
    def uid(self) -> str:
        """The uid of the object to annotate: another one of its name is not refreshed."""
        return text((self.owner or metadata(self.lws)).get("uid"))


async def outdated(reader: Reader, namespace: str, shared: str, template: str = "") -> tuple[Outdated, ...]:
    """Return the LeaderWorkerSets of a namespace, or of all, that have older templates, or one of them.

    Each is tried as a dry run. One that is being deleted starts no pods, and is left out. Raises
    `UnreachableError` if the cluster cannot be read.
    """
    await reader.reach()
    path = LWS.path(namespace) if namespace else LWS.resource.collection
    answer = await reader.every(path)
    if answer.unknown:
        raise UnreachableError(f"cannot list leaderworkersets: {answer.unknown}")
    sets = {
        at: recorded(annotations(one).get(EXPANSION))
        for at, one in enumerate(answer.objects)
        if not metadata(one).get("deletionTimestamp")
    }
    named = {at: sources for at, sources in sets.items() if not template or template in _names(sources)}
    keys = {
        (where, source.name)
        for at, sources in named.items()
        for source in sources
        for where in (text(metadata(answer.objects[at]).get("namespace")), shared)
    }
    known = dict(zip(keys, await asyncio.gather(*(_template(reader, *key) for key in keys)), strict=True))
    rows = (
        Outdated(answer.objects[at], tuple(_changes(answer.objects[at], sources, known, shared)))
        for at, sources in named.items()
    )
    found = await asyncio.gather(*(_tried(reader, row) for row in rows if row.changes))
    return tuple(sorted(found, key=lambda row: (row.namespace, row.name)))


def _names(sources: Iterable[TemplateVersion]) -> set[str]:
    return {one.name for one in sources}


async def _template(reader: Reader, namespace: str, name: str) -> TemplateVersion | None:
    """Read the version of a template; None if there is none."""
    answer = await reader.one(api_path(f"/apis/{API_VERSION}/namespaces", namespace, PLURAL, name))
    if answer.unknown:
        raise UnreachableError(f"cannot read InferenceTemplate {namespace}/{name}: {answer.unknown}")
    if not answer.objects:
        return None
    of = metadata(answer.objects[0])
    return TemplateVersion(name, namespace, text(of.get("uid")), number(of.get("generation")))


def _changes(
    lws: Object,
    sources: Iterable[TemplateVersion],
    known: dict[TemplateKey, TemplateVersion | None],
    shared: str,
) -> Iterator[TemplateChange]:
    """Yield the templates that are not as they were read; that of the object's namespace comes first."""
    for one in sources:
        now = known[text(metadata(lws).get("namespace")), one.name] or known[shared, one.name]
        if now != one:
            yield TemplateChange(one, now)


async def _tried(reader: Reader, row: Outdated) -> Outdated:
    """Try a refresh as a dry run."""
    gone = [change.read.name for change in row.changes if change.now is None]
    path, written = row.written
    if gone:
        return replace(row, problem=f"create {' and '.join(gone)} again, or change base-refs of {written}")
    if not path:
        return replace(row, problem=f"{written} writes it: change the template of the role there")
    try:
        uid = text(metadata(row.lws).get("uid"))
        request = _refresh(LWS.path(row.namespace, row.name), uid, row, dry_run=True)
        answer = await sent(reader, request, f"LeaderWorkerSet {row.name}")
    except FailedError as error:
        return replace(row, problem=str(error))
    return replace(row, rolls=_group(answer) != _group(row.lws))


async def refreshed(reader: Reader, rows: Iterable[Outdated]) -> tuple[Outdated, ...]:
    """Refresh what can be refreshed; an InferenceService once for all of its roles."""
    done: dict[str, str] = {}
    found = []
    for row in rows:
        path, name = row.written
        if row.problem:
            found.append(row)
            continue
        if path not in done:
            try:
                await sent(reader, _refresh(path, row.uid, row, dry_run=False), name)
                done[path] = ""
            except FailedError as error:
                done[path] = str(error)
        found.append(replace(row, is_refreshed=not done[path], problem=done[path]))
    return tuple(found)


def _refresh(path: str, uid: str, row: Outdated, *, dry_run: bool) -> Request:
    """Return the request that changes the annotation: its value names the templates of now.

    The API server denies a patch with another uid than the object's.
    """
    value = digest([list(change.now) for change in row.changes if change.now]).hex()[:LENGTH]
    query = {"fieldManager": MANAGER, **({"dryRun": "All"} if dry_run else {})}
    precondition = {"uid": uid} if uid else {}
    return Request("patch", path, query, {"metadata": {"annotations": {REFRESH: value}, **precondition}})


def _group(lws: Object) -> object:
    return mapping(lws.get("spec")).get("leaderWorkerTemplate")
