"""Offline preview: the objects that the controller would make for services in files.

There is no API server, so there are no uids and no status. The LeaderWorkerSets of an InferenceService are
left out: they go through admission, and are passed in as members.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from intent import Object
from intent.inferenceservice.read import InferenceServiceIntent
from intent.service.member import Member
from intent.settings import Settings
from intent.shapes import metadata, text
from intent.template import Templates, Unavailable
from sync.kinds import AUTOSCALER, INFERENCE_SERVICE, LWS, POD, POD_GROUP, Kind
from sync.observe import ServiceMemory, observe
from sync.observed.configuration import Configuration, configuration, reference
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.inferencetemplate import NamedTemplates, cached_template
from sync.observed.lws import CachedLeaderWorkerSet
from sync.parts.desired import Desired, combined
from sync.parts.service import desired_state
from sync.watch.cache import holding


def preview(
    members: Iterable[Member],
    settings: Settings,
    inferenceservices: Iterable[InferenceServiceIntent] = (),
    config_maps: Collection[Object] = (),
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
    rows: dict[Kind[Any], Iterable[Any]] = {INFERENCE_SERVICE: requests.values(), LWS: sets}
    caches = {kind.kind: holding(kind, rows.get(kind, ())) for kind in (*rows, AUTOSCALER, POD_GROUP, POD)}
    parts = list[Desired]()
    for key in dict.fromkeys((*(one.key for one in members), *requests)):
        seen = observe(key, caches, ServiceMemory())
        if value := seen.value:
            known = templates(value) if value.base_refs else {}
            read = _configuration(value, config_maps)
            seen = replace(seen, configuration=read, templates=_named(value, known))
        parts.append(desired_state(seen, settings))
    desired = combined(parts)
    return replace(desired, objects=tuple(obj for obj in desired.objects if obj["kind"] != LWS.kind))


def _configuration(service: InferenceServiceIntent, config_maps: Collection[Object]) -> Configuration | None:
    """Return the configuration that a router refers to; None if its ConfigMap is not among the files."""
    if (ref := reference(service)) is None:
        return None
    name = {"namespace": service.namespace, "name": ref.name}
    for config_map in config_maps:
        if all(text(metadata(config_map).get(key)) == name[key] for key in name):
            return configuration(ref, config_map)
    return None


def _named(service: InferenceServiceIntent, known: Templates) -> NamedTemplates:
    """Return the templates that a service names, as far as they are among the files."""
    found = {name: known[name] for name in service.base_refs if name in known}
    rows = {name: cached_template(one, "") for name, one in found.items() if not isinstance(one, Unavailable)}
    return NamedTemplates(service.base_refs, rows)
