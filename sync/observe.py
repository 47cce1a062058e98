"""Builds the snapshot of one service from the caches and from what earlier reconciles remembered."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from math import inf
from typing import Final, TypeVar

from intent import Object, budget
from intent.errors import Subject
from intent.inferenceservice.members import member_name
from intent.inferenceservice.read import InferenceServiceIntent
from intent.inferencetemplate.v1alpha1 import KIND as TEMPLATE
from intent.names import service_names
from intent.service.member import Member, ServiceKey, gangs
from sync.kinds import AUTOSCALER, GATEWAYS, HTTP_ROUTE, INFERENCE_SERVICE, LWS, POD, POD_GROUP, POOL
from sync.observed.cached import Row
from sync.observed.index_keys import EJECTED, IndexKey
from sync.observed.inferencetemplate import NONE_NAMED, OFF, NamedTemplates
from sync.observed.lws import CachedLeaderWorkerSet
from sync.observed.pod import ObservedPod
from sync.observed.pod_group import PodGroup
from sync.snapshot import Situation, Snapshot
from sync.watch.cache import Cache, Caches, cache_of

R = TypeVar("R", bound=Row)
Sets = tuple[CachedLeaderWorkerSet, ...]
SetCache = Cache[CachedLeaderWorkerSet]
RECREATED_WITHIN: Final = 60.0
"""Seconds for which a PodGroup stays after the last pod that names it.

LeaderWorkerSet deletes a failed group before it creates it again: meanwhile no pod names the PodGroup.
"""


@dataclass(slots=True)
class ServiceMemory:
    """What one reconcile of a service remembers for the next."""

    ours: dict[str, PodGroup] = field(default_factory=dict)
    """Our PodGroups as last seen with roles: they keep them if a PodGroup is deleted or edited."""
    empty_since: dict[str, float] = field(default_factory=dict)
    """The time (monotonic) since which a member, by uid, has no replicas."""
    named: dict[str, float] = field(default_factory=dict)
    """The time (monotonic) until which a PodGroup stays that no template names; inf: a pod names it."""
    last_replicas: dict[str, int | None] = field(default_factory=dict)
    """The replicas that the roles of the InferenceService asked for, as last seen."""
    ready: str = ""
    """The status of the condition `Ready` that was last `True` or `False`; something else if none was."""
    status: Object | None = None
    """The status of the InferenceService as last seen; None: none was seen."""
    claimed: set[str] = field(default_factory=set)
    """Roles whose replicas their author changed since, and that are not stored yet."""

    def claims(self, service: InferenceServiceIntent | None, stored: Mapping[str, int]) -> frozenset[str]:
        """Return the roles whose author wins over an autoscaler, having changed `replicas` last.

        `stored` has the replicas of the existing LeaderWorkerSets, by name.
        """
        for role in service.roles if service else ():
            if self.last_replicas.get(role.name, role.replicas) != role.replicas:
                self.claimed.add(role.name)
            if service and stored.get(member_name(service, role)) == role.replicas:
                self.claimed.discard(role.name)
            self.last_replicas[role.name] = role.replicas
        return frozenset(self.claimed)

    def remember(self, name: str, stored: PodGroup | None) -> PodGroup | None:
        """Return our PodGroup of a name as last seen with roles."""
        before = self.ours.get(name)
        if stored and stored.service and (stored.roles or not (before and before.roles)):
            self.ours[name] = stored
        return self.ours.get(name)

    def empty_for(self, members: tuple[Member, ...]) -> dict[str, float]:
        """Return the seconds for which members have had no replicas, by name; start counting for new ones.

        Those of a revision count while another role of it has replicas.
        """
        now, started = time.monotonic(), {one.gang for one in members if one.replicas}
        empty = [one for one in members if not one.replicas and (not one.revision or one.gang in started)]
        self.empty_since = {one.uid: self.empty_since.get(one.uid, now) for one in empty}
        return {one.name: now - self.empty_since[one.uid] for one in empty}


def observe(key: ServiceKey, caches: Caches, memory: ServiceMemory) -> Snapshot:
    """Build the snapshot of one service."""
    own, unknown = {kind: cache.of(key) for kind, cache in caches.items()}, _unknown(key, caches)
    rows, sets = dict(own), cache_of(caches, LWS)
    service = cache_of(caches, INFERENCE_SERVICE).rows.get(key)
    value = service.value if service else None
    crowd = _crowd(key, sets)
    few = _few(key, value, sets) if crowd else own[LWS.kind]
    names = _gang_names(key, few, own[POD_GROUP.kind])
    by_group = [row for name in names for at in _gang_keys(key[0], name) for row in sets.of(at)]
    rows[LWS.kind] = few if crowd else _once(*few, *by_group)
    targets = [IndexKey(LWS.kind, key[0], one.name) for one in rows[LWS.kind]]
    scaling = cache_of(caches, AUTOSCALER)
    rows[AUTOSCALER.kind] = _once(*own[AUTOSCALER.kind], *(row for at in targets for row in scaling.of(at)))
    if GATEWAYS.kind in caches:
        named = sorted({at for route in rows[HTTP_ROUTE.kind] for at in route.index_keys})
        rows[GATEWAYS.kind] = tuple(row for at in named for row in cache_of(caches, GATEWAYS).of(at))
    if POOL.kind in caches and value and value.router:
        pool = cache_of(caches, POOL).rows.get((key[0], value.router.pool))
        rows[POOL.kind] = _once(*own[POOL.kind], *((pool,) if pool else ()))
    stored = {row.name: row.report.replicas for row in rows[LWS.kind] if row.report}
    situation, *revisions = _situations(key, names, rows[LWS.kind], caches, memory)
    return Snapshot(
        situation,
        service,
        rows,
        own,
        tuple(_namesakes(key, sets)),
        claimed=memory.claims(value, stored),
        unknown=unknown,
        unreadable=() if crowd else tuple(_unreadable(key, caches, unknown)),
        crowd=crowd,
        revisions=tuple(revisions),
        templates=_templates(value, caches) if value else NONE_NAMED,
    )


def _templates(service: InferenceServiceIntent, caches: Caches) -> NamedTemplates:
    """Return the templates that a service names: of its namespace, else of the operator's."""
    names = service.base_refs
    cache = caches.get(TEMPLATE)
    if not names or cache is None:
        return NamedTemplates(names, trouble=OFF)
    found = {
        name: row
        for name in names
        for where in ("", service.namespace)
        for row in cache.of(IndexKey(TEMPLATE, where, name))
    }
    return NamedTemplates(names, found, cache.availability.trouble_in(service.namespace))


def _once(*rows: R) -> tuple[R, ...]:
    """Return rows of one kind and namespace, each once."""
    return tuple({row.name: row for row in rows}.values())


def _crowd(key: ServiceKey, cache: SetCache) -> int:
    """Return the number of LeaderWorkerSets of a service if it exceeds the limit; else 0. None is read."""
    found = max(cache.count(at) for at in (key, *_gang_keys(*key)))
    return found if found > budget.MEMBERS else 0


def _gang_keys(namespace: str, name: str) -> tuple[IndexKey, IndexKey]:
    """Return the index keys of the LeaderWorkerSets whose templates name a PodGroup."""
    return IndexKey(POD_GROUP.kind, namespace, name), IndexKey(EJECTED, namespace, name)


def _few(key: ServiceKey, service: InferenceServiceIntent | None, sets: SetCache) -> Sets:
    """Return of too many LeaderWorkerSets those of the InferenceService's roles, and one member.

    The status is about the first, and a finding about the second where there is no InferenceService.
    """
    names = [member_name(service, role) for role in service.roles] if service else []
    of_roles = [row for name in names if (row := sets.rows.get((key[0], name)))]
    members = (row for row in sets.of(key) if (one := row.member) and one.key == key)
    return _once(*of_roles, *islice(members, 1))


def _members(key: ServiceKey, sets: Sets) -> list[Member]:
    """Return the members of a service among LeaderWorkerSets."""
    return [one for row in sets if (one := row.member) and one.key == key]


def _gang_names(key: ServiceKey, sets: Sets, pod_groups: Iterable[PodGroup]) -> tuple[str, ...]:
    """Return the PodGroups of a service: that of its name first, then those of revisions."""
    of_members = (one.gang for one in _members(key, sets))
    stored = (row.name for row in pod_groups if row.service == key[1])
    return tuple(dict.fromkeys((key[1], *of_members, *stored)))


def _unknown(key: ServiceKey, caches: Caches) -> dict[str, str]:
    """Return the kinds of which not all objects of a service are known, and why."""
    return {
        kind: why
        for kind, cache in caches.items()
        if (cache.availability.trouble or cache.unreadable) and (why := cache.gap(key))
    }


def _unreadable(key: ServiceKey, caches: Caches, kinds: Iterable[str]) -> Iterator[tuple[Subject, str]]:
    """Yield the unreadable objects of a service, and why they are."""
    for kind in kinds:
        version = caches[kind].kind.resource.api_version
        for row in caches[kind].unreadable_of(key):
            yield Subject(version, kind, row.namespace, row.name, row.uid), row.why


def _namesakes(key: ServiceKey, sets: SetCache) -> Iterator[Subject]:
    """Yield the LeaderWorkerSets with the name of a Service of the service, if they are not being deleted."""
    for name in service_names(key[1]):
        row = sets.rows.get((key[0], name))
        if row and not row.deleting:
            yield Subject(LWS.resource.api_version, LWS.kind, row.namespace, row.name, row.uid)


def _situations(
    key: ServiceKey, names: tuple[str, ...], sets: Sets, caches: Caches, memory: ServiceMemory
) -> Iterator[Situation]:
    """Build the inputs of the plans of all gangs, that of the service's name first."""
    pod_groups = cache_of(caches, POD_GROUP)
    members = _members(key, sets)
    ejected = [one for row in sets if (one := row.ejected)]
    by_gang, by_group = gangs(members), gangs(ejected)
    rivals = [one.name for one in members if pod_groups.of(IndexKey(LWS.kind, one.namespace, one.name))]
    empty_for = memory.empty_for((*members, *ejected))
    bound = _bound(key, caches) if any(one.revision and not one.replicas for one in members) else frozenset()
    for name in names:
        stored = pod_groups.rows.get((key[0], name))
        situation = Situation(
            key,
            members=by_gang.get(name, ()),
            stored=stored,
            remembered=memory.remember(name, stored),
            rivals=frozenset(rivals),
            empty_for=empty_for,
            ejected=tuple(one for one in by_group.get(name, ()) if one.group == name),
            group=name if name != key[1] else "",
            bound=bound,
        )
        if not situation.is_named:
            needed_for = _needed_for(situation, cache_of(caches, POD), memory)
            situation = replace(situation, needed_for=needed_for)
        yield situation
    memory.ours = {name: known for name, known in memory.ours.items() if name in names}
    memory.named = {name: known for name, known in memory.named.items() if name in names}


def _needed_for(situation: Situation, pods: Cache[ObservedPod], memory: ServiceMemory) -> float:
    """Return `Situation.needed_for`; a pod that is not known may name the PodGroup."""
    key, name, stored = situation.key, situation.pod_group, situation.stored
    until, now = memory.named.pop(name, -inf), time.monotonic()
    if stored is None or stored.service != key[1]:
        return 0.0
    is_by_pod = bool(pods.gap(key)) or any(pod.pod_group == name for pod in pods.of(key))
    until = inf if is_by_pod else min(until, now + RECREATED_WITHIN)
    if until > now:
        memory.named[name] = until
    return max(0.0, until - now)


def _bound(key: ServiceKey, caches: Caches) -> frozenset[str]:
    """Return the LeaderWorkerSets of which a pod is bound that is not about to end."""
    pods = cache_of(caches, POD).of(key)
    return frozenset(pod.lws for pod in pods if pod.scheduled and not pod.deleting)
