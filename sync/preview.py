"""Offline preview: the objects that the controller would make for services in files.

There is no API server, so there are no uids and no status. The LeaderWorkerSets of an InferenceService are
left out: they go through admission, and are passed in as members.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from intent import Object
from intent.inferenceservice.read import InferenceServiceIntent
from intent.service.member import Member, ServiceKey
from intent.settings import Settings
from intent.shapes import metadata, text
from intent.template import Templates, Unavailable
from sync.kinds import AUTOSCALER, INFERENCE_SERVICE, LWS, POD, POD_GROUP
from sync.observe import ServiceMemory, observe
from sync.observed.configuration import Configuration, configuration, reference
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.inferencetemplate import NONE_NAMED, NamedTemplates, cached_template
from sync.observed.lws import CachedLeaderWorkerSet
from sync.parts.desired import Desired, combined
from sync.parts.service import desired_state
from sync.watch.cache import Cache, holding


def preview(
    members: Iterable[Member],
    settings: Settings,
    inferenceservices: Iterable[InferenceServiceIntent] = (),
    config_maps: Iterable[Object] = (),
    templates: Callable[[InferenceServiceIntent], Templates] = lambda _service: {},
) -> Desired:
    """Return what is desired for these members and InferenceServices, in the controller's order.

    `config_maps` are those of users, to which routers may refer; `templates` returns those that a service may
    name.
    """
    members = tuple(members)
    requests = {
        (one.namespace, one.name): CachedInferenceService(
            *(one.namespace, one.name, one.uid, one.name), generation=one.generation, intent=one
        )
        for one in inferenceservices
    }
    sets = (
        CachedLeaderWorkerSet(one.namespace, one.name, one.uid, one.service, member=one) for one in members
    )
    kinds: tuple[Cache[Any], ...] = (
        holding(INFERENCE_SERVICE, requests.values()),
        holding(LWS, sets),
        holding(AUTOSCALER),
        holding(POD_GROUP),
        holding(POD),
    )
    caches = {cache.kind.kind: cache for cache in kinds}
    held = {
        (text(of.get("namespace")), text(of.get("name"))): one
        for one in config_maps
        for of in (metadata(one),)
    }
    snapshots = (
        replace(
            observe(key, caches, ServiceMemory()),
            configuration=_configuration(requests.get(key), held),
            templates=_templates(requests.get(key), templates),
        )
        for key in dict.fromkeys((*(one.key for one in members), *requests))
    )
    desired = combined(desired_state(snapshot, settings) for snapshot in snapshots)
    return replace(desired, objects=tuple(obj for obj in desired.objects if obj["kind"] != LWS.kind))


def _configuration(
    service: CachedInferenceService | None, config_maps: Mapping[ServiceKey, Object]
) -> Configuration | None:
    """Return the configuration that a router refers to; None if its ConfigMap is not among the files."""
    ref = reference(service.value) if service else None
    found = config_maps.get((service.namespace, ref.name)) if service and ref else None
    return configuration(ref, found) if ref and found is not None else None


def _templates(
    service: CachedInferenceService | None, templates: Callable[[InferenceServiceIntent], Templates]
) -> NamedTemplates:
    """Return the templates that a service names, as far as they are among the files."""
    value = service.value if service else None
    if value is None or not value.base_refs:
        return NONE_NAMED
    known = templates(value)
    found = {name: known[name] for name in value.base_refs if name in known}
    rows = {name: cached_template(one, "") for name, one in found.items() if not isinstance(one, Unavailable)}
    return NamedTemplates(value.base_refs, rows)
