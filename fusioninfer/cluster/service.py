"""What a cluster holds for one service, and what the controller's own functions make of it."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fusioninfer.cluster.reader import ABSENT, Answer, NotFoundError, Reader
from fusioninfer.cluster.text import is_named, name_of, parse, service_of
from fusioninfer.lint.documents import UnreadableFileError
from fusioninfer.settings import parse as parse_settings
from intent import Object
from intent.inferenceservice.read import read
from intent.inferenceservice.v1alpha1 import ConfigRef
from intent.names import SYSTEM_NAMESPACE
from intent.service.member import ServiceKey
from intent.settings import Settings
from intent.shapes import mapping, text
from sync.kinds import GATEWAYS, INFERENCE_SERVICE, LWS, OUTPUTS, WATCHED, Kind, part_of, templates
from sync.live import read_configuration
from sync.observe import ServiceMemory, observe
from sync.observed.configuration import KIND as CONFIG_MAP
from sync.observed.configuration import Configuration, reference
from sync.parts.desired import Desired
from sync.parts.service import desired_state
from sync.snapshot import Snapshot
from sync.watch.cache import Cache, holding

SETTINGS: Final = "fusioninfer-settings"
"""The name of the ConfigMap of settings, or its start."""
FILE: Final = "settings.yaml"
TEMPLATES: Final = templates(SYSTEM_NAMESPACE)


@dataclass(frozen=True, slots=True)
class Live:
    """The objects of one namespace that may belong to services, and what the controller is told besides."""

    objects: Mapping[str, Answer] = field(default_factory=dict)
    """By kind."""
    settings: Settings = field(default_factory=Settings)
    notes: tuple[str, ...] = ()
    """What was assumed, because it could not be read."""
    configurations: Mapping[ConfigRef | None, Configuration | None] = field(default_factory=dict)
    """What is in the ConfigMaps that routers refer to."""

    def answer(self, kind: str) -> Answer:
        """Return what is known of a kind; that there is nothing if it was not read."""
        return self.objects.get(kind, ABSENT)

    def of(self, kind: Kind[Any]) -> tuple[Object, ...]:
        """Return the objects of a kind."""
        return self.answer(kind.kind).objects

    def storing(self, obj: Object) -> "Live":
        """Return the same cluster with an object stored in it, in place of the one of its name."""
        kind = text(obj.get("kind"))
        others = (each for each in self.answer(kind).objects if name_of(each) != name_of(obj))
        return replace(self, objects={**self.objects, kind: Answer((*others, obj))})


# --- reading ----------------------------------------------------------------------------------------


async def read_live(reader: Reader, namespace: str) -> Live:
    """Read the objects of a namespace that the controller watches, and its settings."""
    paths = [kind.path(namespace) if kind is not GATEWAYS else kind.resource.collection for kind in WATCHED]
    selectors = [kind.resource.selector for kind in WATCHED]
    lists = await asyncio.gather(*map(reader.every, paths, selectors))
    found = {}
    for kind, answer in zip(WATCHED, lists, strict=True):
        identity = {"apiVersion": kind.resource.api_version, "kind": kind.kind}  # items of lists lack it
        found[kind.kind] = replace(answer, objects=tuple(identity | obj for obj in answer.objects))
    found[TEMPLATES.kind] = await _templates(reader, namespace)
    settings, notes = await _settings(reader)
    configurations = await _configurations(reader, found[INFERENCE_SERVICE.kind].objects)
    return Live(found, settings, notes, configurations)


async def _templates(reader: Reader, namespace: str) -> Answer:
    """Read the InferenceTemplates of a namespace, and those of the operator's, which serve all."""
    homes = (namespace, SYSTEM_NAMESPACE)
    own, shared = await asyncio.gather(*(reader.every(TEMPLATES.path(one)) for one in homes))
    return Answer((*own.objects, *shared.objects), own.unknown or shared.unknown, own.served)


async def _configurations(
    reader: Reader, services: Iterable[Object]
) -> Mapping[ConfigRef | None, Configuration | None]:
    """Read the ConfigMaps that the routers of InferenceServices refer to."""
    asked = {ref: value for value, _ in map(read, services) if (ref := reference(value)) and value}
    found = await asyncio.gather(*(read_configuration(reader.client, value) for value in asked.values()))
    return dict(zip(asked, found, strict=True))


def require(found: Mapping[str, Answer], kinds: Iterable[Kind[Any]], namespace: str) -> None:
    """Raise `UnreachableError` for the first kind that could not be listed."""
    for kind in kinds:
        found[kind.kind].known(f"{kind.resource.plural} in namespace {namespace}")


async def _settings(reader: Reader) -> tuple[Settings, tuple[str, ...]]:
    """Read the settings of the installation; the defaults, with a note, if they cannot be read."""
    listed = await reader.every(OUTPUTS[CONFIG_MAP].path(SYSTEM_NAMESPACE))
    if listed.unknown:
        return Settings(), (f"the settings cannot be read, so the defaults are assumed: {listed.unknown}",)
    named = [one for one in listed.objects if text(mapping(one["metadata"]).get("name")).startswith(SETTINGS)]
    latest = max(named, key=lambda one: text(one["metadata"].get("creationTimestamp")), default={})
    try:
        settings, engines = parse_settings(text(mapping(latest.get("data")).get(FILE)), FILE)
    except UnreadableFileError:
        return Settings(), ("the settings of the installation are invalid, so the defaults are assumed",)
    return settings, ((f"the facts about engines in {engines} are not read",) if engines else ())


def find(live: Live, word: str, namespace: str) -> tuple[Object, str]:
    """Return the object that a word names, and its service: NAME, lws/NAME or isvc/NAME.

    A word without a kind is the name of a service, else of a LeaderWorkerSet. Raises `NotFoundError`.
    """
    kind, name = parse(word)
    if kind != LWS.kind and (service := live.answer(INFERENCE_SERVICE.kind).named(name)):
        return service, name
    sets = [lws for lws in live.of(LWS) if kind != INFERENCE_SERVICE.kind and is_named(lws, word)]
    lws = min(sets, key=lambda lws: service_of(lws) != name, default=None)
    if lws is None:
        raise NotFoundError(f"{word}: not found in namespace {namespace}; check the name, -n and --context")
    return lws, service_of(lws)


# --- computing --------------------------------------------------------------------------------------


def snapshot_of(live: Live, key: ServiceKey, memory: ServiceMemory | None = None) -> Snapshot:
    """Return what the controller sees of a service; without a memory, as one that has just started."""
    rows = {kind: filter(None, map(Cache(kind).project, live.of(kind))) for kind in (*WATCHED, TEMPLATES)}
    caches = {kind.kind: holding(kind, rows[kind], live.answer(kind.kind).unknown) for kind in rows}
    seen = observe(key, caches, memory or ServiceMemory())
    seen = replace(seen, configuration=live.configurations.get(reference(seen.value)))
    absent = absent_objects(desired_state(seen, live.settings), live)
    return replace(seen, unapplied=frozenset(part_of(*one) for one in absent))


def absent_objects(desired: Desired, live: Live) -> list[tuple[str, str]]:
    """Return kind and name of the desired objects that are not stored, of the kinds that are known."""
    stored = {kind.path_of(obj) for kind in OUTPUTS.values() for obj in live.of(kind)}
    objects = ((OUTPUTS[obj["kind"]], obj) for obj in desired.objects)
    return [
        (kind.kind, name_of(obj))
        for kind, obj in objects
        if kind.path_of(obj) not in stored and not live.answer(kind.kind).unknown
    ]
