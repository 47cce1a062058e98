"""LeaderWorkerSets whose templates were changed or deleted since admission read them, and their refresh.

A refresh changes the annotation `fusioninfer.io/refresh` of what its author wrote: the LeaderWorkerSet, or
the InferenceService that it belongs to. Whether groups restart is what the API server and all webhooks answer
to a dry run of it.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from fusioninfer.cluster.reader import NotFoundError, Reader, UnreachableError, why
from fusioninfer.cluster.text import Named, name_of, service_of
from intent import Object
from intent.annotations import EXPANSION, REFRESH
from intent.applied import TemplateVersion, recorded
from intent.inferenceservice.v1alpha1 import API_VERSION
from intent.inferencetemplate.v1alpha1 import PLURAL
from intent.names import api_path
from intent.shapes import annotations, listed, mapping, metadata, number, text
from kube.client import NO_ANSWER, NOT_FOUND, ApiError
from kube.request import Request
from sync.kinds import INFERENCE_SERVICE, LWS
from sync.observed.cached import digest

MANAGER: Final = "fusioninfer-refresh"
"""The field manager of the annotation."""
LENGTH: Final = 16
"""Characters of the value of the annotation."""
AGAIN: Final = "run the command again"


class TemplateChange(NamedTuple):
    """A template that is not as it was read; `now` is None if it was deleted."""

    read: TemplateVersion
    now: TemplateVersion | None

    def __str__(self) -> str:
        """Return what became of it."""
        one = f"InferenceTemplate {self.read.namespace}/{self.read.name}"
        if self.now is None:
            return f"{one} was deleted"
        if self.now.namespace != self.read.namespace:
            return f"{one} gave way to {self.now.namespace}/{self.now.name}"
        return f"{one} was changed (generation {self.read.generation}, now {self.now.generation})"


class Target(NamedTuple):
    """An object to annotate."""

    kind: str
    name: str
    uid: str
    """Another object of its name is not refreshed."""
    path: str
    """Empty: it is none of an author's."""

    def __str__(self) -> str:
        """Return what messages call it."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Outdated:
    """A LeaderWorkerSet with older templates."""

    namespace: str
    lws: Object
    changes: tuple[TemplateChange, ...] = ()
    rolls: bool = False
    """Whether its groups restart when it takes the templates of now."""
    problem: str = ""
    """Why it cannot take them; empty if it can."""
    is_refreshed: bool = False

    @property
    def itself(self) -> Target:
        """The LeaderWorkerSet."""
        return self._target(LWS.kind, metadata(self.lws))

    @property
    def written(self) -> Target:
        """The object that its author wrote: its owner, or itself."""
        owners = map(mapping, listed(metadata(self.lws).get("ownerReferences")))
        owner = next((one for one in owners if one.get("controller") is True), None)
        return self._target(text(owner.get("kind")), owner) if owner else self.itself

    def _target(self, kind: str, of: Object) -> Target:
        name = text(of.get("name"))
        known = {one.kind: one for one in (LWS, INFERENCE_SERVICE)}.get(kind)
        return Target(kind, name, text(of.get("uid")), known.path(self.namespace, name) if known else "")


class Wanted(NamedTuple):
    """Which LeaderWorkerSets are meant."""

    namespace: str
    """Empty: all."""
    shared: str
    """The namespace whose templates serve all namespaces."""
    template: str = ""
    """Only those that name this template."""
    named: Named | None = None
    """Only this service, or this object."""

    def is_meant(self, lws: Object) -> bool:
        """Return whether a LeaderWorkerSet is named, or none is."""
        if self.named is None:
            return True
        names = {LWS.kind: {name_of(lws)}, INFERENCE_SERVICE.kind: {service_of(lws)}}
        return self.named.name in names.get(self.named.kind, {name_of(lws), service_of(lws)})


async def outdated(reader: Reader, wanted: Wanted) -> tuple[Outdated, ...]:
    """Return the LeaderWorkerSets that have older templates, each tried as a dry run.

    One that is being deleted starts no pods, and is left out. Raises `UnreachableError` if the cluster cannot
    be read, `NotFoundError` if there is nothing of the name.
    """
    await reader.reach()
    answer = await reader.every(LWS.path(wanted.namespace) if wanted.namespace else LWS.resource.collection)
    if answer.unknown:
        raise UnreachableError(f"cannot list leaderworkersets: {answer.unknown}")
    meant = [one for one in answer.objects if wanted.is_meant(one)]
    if wanted.named and not meant:
        raise NotFoundError(f"{wanted.named.name}: not found; check the name, -n and --context")
    living = [
        Outdated(text(of.get("namespace")), one)
        for one, of in zip(meant, map(metadata, meant), strict=True)
        if not of.get("deletionTimestamp")
    ]
    sources = [recorded(annotations(one.lws).get(EXPANSION)) for one in living]
    rows = [
        (row, read)
        for row, read in zip(living, sources, strict=True)
        if not wanted.template or wanted.template in {one.name for one in read}
    ]
    keys = {
        (where, one.name) for row, read in rows for one in read for where in (row.namespace, wanted.shared)
    }
    versions = await asyncio.gather(*(_template(reader, *key) for key in keys))
    known = dict(zip(keys, versions, strict=True))
    changed = []
    for row, read in rows:  # a template of the object's own namespace comes first
        now = (known[row.namespace, one.name] or known[wanted.shared, one.name] for one in read)
        changes = tuple(TemplateChange(*pair) for pair in zip(read, now, strict=True) if pair[0] != pair[1])
        changed += [replace(row, changes=changes)] if changes else []
    found = await asyncio.gather(*(_tried(reader, row) for row in changed))
    return tuple(sorted(found, key=lambda row: (row.namespace, row.itself.name)))


async def _template(reader: Reader, namespace: str, name: str) -> TemplateVersion | None:
    """Read the version of a template; None if there is none."""
    answer = await reader.one(api_path(f"/apis/{API_VERSION}/namespaces", namespace, PLURAL, name))
    if answer.unknown:
        raise UnreachableError(f"cannot read InferenceTemplate {namespace}/{name}: {answer.unknown}")
    if not answer.objects:
        return None
    of = metadata(answer.first)
    return TemplateVersion(name, namespace, text(of.get("uid")), number(of.get("generation")))


async def _tried(reader: Reader, row: Outdated) -> Outdated:
    """Try a refresh as a dry run."""
    gone = " and ".join(change.read.name for change in row.changes if change.now is None)
    if gone:
        return replace(row, problem=f"create {gone} again, or change base-refs of {row.written}")
    if not row.written.path:
        return replace(row, problem=f"{row.written} writes it: change the template of the role there")
    answer, problem = await _sent(reader, row.itself, row, dry_run=True)
    before, after = (mapping(one.get("spec")).get("leaderWorkerTemplate") for one in (row.lws, answer))
    return replace(row, problem=problem, rolls=not problem and before != after)


async def refreshed(reader: Reader, rows: Iterable[Outdated]) -> tuple[Outdated, ...]:
    """Refresh LeaderWorkerSets; an InferenceService once for all of its roles."""
    problems: dict[str, str] = {}
    found = []
    for row in rows:
        target = row.written
        if target.path not in problems:
            _, problems[target.path] = await _sent(reader, target, row, dry_run=False)
        problem = problems[target.path]
        found.append(replace(row, is_refreshed=not problem, problem=problem))
    return tuple(found)


async def _sent(reader: Reader, target: Target, row: Outdated, *, dry_run: bool) -> tuple[Object, str]:
    """Change the annotation, whose value names the templates of now; return the object, or what is wrong.

    The API server denies a patch with another uid than the object's.
    """
    value = digest([list(change.now) for change in row.changes if change.now]).hex()[:LENGTH]
    query = {"fieldManager": MANAGER, **({"dryRun": "All"} if dry_run else {})}
    uid = {"uid": target.uid} if target.uid else {}
    body = {"metadata": {"annotations": {REFRESH: value}, **uid}}
    try:
        return await reader.send(Request("patch", target.path, query, body)), ""
    except ApiError as error:
        is_gone = error.code == NOT_FOUND or "metadata.uid" in str(error)
        return {}, f"{target} was deleted meanwhile; {AGAIN}" if is_gone else f"{target}: {why(error)}"
    except NO_ANSWER as error:
        return {}, f"the API server did not answer for {target} ({why(error)}); {AGAIN}"
