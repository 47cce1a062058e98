"""Offline preview: the objects that the controller would make for services in files.

There is no API server, so there are no uids and no status. The LeaderWorkerSets of an InferenceService are
left out: they go through admission, and are passed in as members.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from intent import Object
from intent.errors import Finding
from intent.inferenceservice.read import InferenceServiceIntent
from intent.lws import KIND as LWS
from intent.names import service_names
from intent.service.member import Member, ServiceKey, gangs, services
from intent.settings import Settings
from intent.shapes import metadata, text
from intent.template import Templates, Unavailable
from sync.desired.service import combined, desired_state
from sync.kinds import AUTOSCALER
from sync.observed.autoscaler import Autoscaler
from sync.observed.cached import CachedObject
from sync.observed.configuration import Configuration, configuration, reference
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.inferencetemplate import NONE_NAMED, NamedTemplates, cached_template
from sync.observed.snapshot import Situation, Snapshot


@dataclass(frozen=True, slots=True)
class Preview:
    """Objects without ownerReferences, and findings."""

    objects: tuple[Object, ...]
    findings: tuple[Finding, ...]


def preview(  # noqa: PLR0913, PLR0917 - the kinds of objects that files may have
    members: Iterable[Member],
    settings: Settings,
    inferenceservices: Iterable[InferenceServiceIntent] = (),
    autoscalers: Iterable[CachedObject[Autoscaler]] = (),
    config_maps: Iterable[Object] = (),
    templates: Callable[[InferenceServiceIntent], Templates] = lambda _service: {},
) -> Preview:
    """Plan and render every service of these members and InferenceServices, in the controller's order.

    `autoscalers` are those of others; `config_maps` are those of users, to which routers may refer; and
    `templates` returns those that a service may name.
    """
    held = {
        (text(metadata(one).get("namespace")), text(metadata(one).get("name"))): one for one in config_maps
    }
    members, autoscalers = tuple(members), tuple(autoscalers)
    found = services(members)
    requests = {
        (one.namespace, one.name): CachedInferenceService(
            one.namespace, one.name, one.uid, one.generation, intent=one
        )
        for one in inferenceservices
    }
    keys: tuple[ServiceKey, ...] = tuple({**found, **requests})
    named = {(one.namespace, one.name): one.subject for one in members}
    snapshots = [
        Snapshot(
            _situation(key, key[1], found.get(key, ())),
            requests.get(key),
            {AUTOSCALER.kind: tuple(row for row in autoscalers if row.namespace == key[0])},
            namesakes=tuple(named[key[0], name] for name in service_names(key[1]) if (key[0], name) in named),
            revisions=tuple(
                _situation(key, name, found[key]) for name in gangs(found.get(key, ())) if name != key[1]
            ),
            configuration=_configuration(requests.get(key), held),
            templates=_templates(requests.get(key), templates),
        )
        for key in keys
    ]
    desired = combined(desired_state(snapshot, settings) for snapshot in snapshots)
    return Preview(tuple(obj for obj in desired.objects if obj["kind"] != LWS), desired.all_findings)


def _situation(key: ServiceKey, name: str, members: tuple[Member, ...]) -> Situation:
    """Return the input of the plan of one gang."""
    own = tuple(one for one in members if one.gang == name)
    return Situation(key, own, group=name if name != key[1] else "")


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
