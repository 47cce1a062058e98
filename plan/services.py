"""The input of a plan: expanded LeaderWorkerSets and PodGroups, as `plan` reads them. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from intent import Object
from intent.annotations import (
    COMPONENT_TYPE,
    COMPONENT_TYPES,
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    GROUP_NAME,
    LEADER_LABELS,
    LWS_NAME,
    ROLE_NAME,
    SERVICE,
)
from intent.disaggregatedset import is_disaggregated_set
from intent.gang import pod_group_name
from intent.lws import KIND as LWS
from intent.lws import read_revision
from intent.quantity import whole
from intent.service.member import member
from intent.shapes import annotations, labels, listed, mapping, metadata, text
from plan.amounts import is_device
from plan.demand import DEFAULT_SCHEDULER, demand
from plan.workload import MOST_GROUPS, RolePods, Workload

GangKey = tuple[str, str]
"""Namespace and name of a PodGroup."""
(WORKER_INDEX,) = LEADER_LABELS
"""The label with the index of a pod in its group; that of a leader is 0."""
NO_POD_GROUP: Final = "its PodGroup does not exist: a required role is missing, so its pods are not scheduled"
PRIORITY_CLASS: Final = "PriorityClass"
CLAIM_TEMPLATE: Final = "ResourceClaimTemplate"
VOLCANO: Final = "volcano"
POD_GROUP: Final = "PodGroup"
MOST_SIZE: Final = 4096


class TooManyPodsError(ValueError):
    """Raised if there are more pods than are planned."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """What a PodGroup says about one LeaderWorkerSet."""

    size: int
    required: int


@dataclass(frozen=True, slots=True)
class Gangs:
    """The objects that count, by what they are found by."""

    priorities: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[GangKey, Object] = field(default_factory=dict)
    templates: Mapping[tuple[str, str], Object] | None = None
    """The templates of claims (DRA); None: the nodes do not say which devices they have."""
    bound: Mapping[tuple[str, str], frozenset[tuple[int, int]]] = field(default_factory=dict)
    """Group and worker index of the pods on nodes, by namespace and name of their LeaderWorkerSet."""


def workloads(
    objects: Iterable[Object], pods: Iterable[Object] = (), *, devices: bool = False
) -> tuple[Workload, ...]:
    """Return the services of expanded objects, in the order of their first LeaderWorkerSet.

    `pods`: those of the cluster; the ones on nodes count as started. `devices`: whether the nodes have those
    that pods claim (DRA). Raises `TooManyPodsError`.
    """
    objects = tuple(objects)
    templates = claim_templates(objects) if devices else None
    known = Gangs(_priorities(objects), _by_name(objects, POD_GROUP), templates, _bound(pods))
    sets: dict[GangKey, list[Object]] = {}
    for one in objects:
        if one.get("kind") == LWS:
            sets.setdefault(_gang_of(one), []).append(one)
    return tuple(_workload(key, members, known, at) for at, (key, members) in enumerate(sets.items()))


def placement_policies(objects: Iterable[Object]) -> Iterator[str]:
    """Say which DisaggregatedSets have one: the affinity that LWS makes of it is in no expanded object."""
    for one in filter(is_disaggregated_set, objects):
        policy = mapping(mapping(one.get("spec")).get("placementPolicy"))
        if policy.get("type", "None") != "None":
            yield f"{one['kind']} {_name(one)}: not modelled: placementPolicy, affinity between pods"


def accelerators(planned: Iterable[Workload]) -> tuple[str, ...]:
    """Return the accelerator resources that services request."""
    names = {
        name
        for one in planned
        for role in one.roles
        for pod in (role.leader, role.worker)
        for name, amount in pod.requests
        if amount and is_device(name)
    }
    return tuple(sorted(names))


def _gang_of(lws: Object) -> GangKey:
    """Return the PodGroup of a LeaderWorkerSet; of one in none, its own name with a sign no name has."""
    namespace = text(metadata(lws).get("namespace"))
    group = text(annotations(_templates(lws)[1]).get(GROUP_NAME))
    return namespace, group or f"lws/{text(metadata(lws).get('name'))}"


def _workload(key: GangKey, members: list[Object], known: Gangs, at: int) -> Workload:
    namespace, group = key
    pod_group = known.groups.get(key)
    spec = mapping(mapping(pod_group).get("spec"))
    policies = dict(_policies(spec))
    roles = tuple(_role(one, policies.get(_name(one)), known) for one in members)
    if sum(role.replicas * role.size for role in roles) > MOST_GROUPS:
        raise TooManyPodsError(
            f"{_title(members)}: more than {MOST_GROUPS} pods of one service are not planned"
        )
    is_gang = not group.startswith("lws/")
    class_name = text(spec.get("priorityClassName"))
    return Workload(
        namespace=namespace,
        name=_title(members),
        roles=roles,
        gang=group if is_gang else "",
        min_member=sum(role.required * role.size for role in roles),
        priority=known.priorities.get(class_name, 0),
        created=text(metadata(mapping(pod_group)).get("creationTimestamp")) or f"{at:09}",
        waits=(NO_POD_GROUP,) if is_gang and pod_group is None else (),
        notes=(*_notes(members, spec, class_name, known), *_schedulers(roles, is_gang=is_gang)),
    )


def _title(members: list[Object]) -> str:
    """Return the name of the service, of a later slice that of its gang; of one in none, its own."""
    service, revision = text(labels(members[0]).get(SERVICE)), read_revision(labels(members[0]))
    return pod_group_name(service, revision if "." in revision else "") if service else _name(members[0])


def _role(lws: Object, policy: Minimum | None, known: Gangs) -> RolePods:
    """Read a role. One that has no replicas rests: after a minute, the controller does not require it.

    One of a DisaggregatedSet is required until pods of its revision were bound.
    """
    spec, marks = mapping(lws.get("spec")), labels(lws)
    size = _bounded(mapping(spec.get("leaderWorkerTemplate")).get("size"), MOST_SIZE, lws)
    leader, worker = _templates(lws)
    namespace = text(metadata(lws).get("namespace"))
    component = text(marks.get(COMPONENT_TYPE))
    replicas = _bounded(spec.get("replicas"), MOST_GROUPS, lws)
    required = policy.required if policy and (replicas or read_revision(marks)) else 0
    return RolePods(
        name=_name(lws),
        role=text(marks.get(ROLE_NAME)) or _name(lws),
        component=next((one for one in COMPONENT_TYPES if one == component), "worker"),
        size=size,
        replicas=replicas,
        leader=demand(leader, known.priorities, known.templates, namespace),
        worker=demand(worker, known.priorities, known.templates, namespace),
        required=required,
        bound=known.bound.get((namespace, _name(lws)), frozenset()),
    )


def _bounded(value: object, most: int, lws: Object) -> int:
    """Return a count, which is 1 by default. Raises `TooManyPodsError`."""
    count = 1 if value is None else whole(value)
    if count is None or count > most:
        raise TooManyPodsError(
            f"LeaderWorkerSet {_name(lws)}: size and replicas of at most {most} are planned"
        )
    return count


def _templates(lws: Object) -> tuple[Object, Object]:
    """Return the templates of leaders and workers; without one of its own, a leader has the workers'."""
    group = mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate"))
    worker = mapping(group.get("workerTemplate"))
    return mapping(group.get("leaderTemplate")) or worker, worker


def _policies(spec: Object) -> Iterator[tuple[str, Minimum]]:
    for one in map(mapping, listed(spec.get("subGroupPolicy"))):
        name = text(mapping(mapping(one.get("labelSelector")).get("matchLabels")).get(LWS_NAME))
        if name:
            yield name, Minimum(whole(one.get("subGroupSize")) or 1, whole(one.get("minSubGroups")) or 0)


def _notes(members: list[Object], spec: Object, class_name: str, known: Gangs) -> Iterator[str]:
    if class_name and class_name not in known.priorities:
        yield f"the value of PriorityClass {class_name} is not known; 0 is assumed"
    yield from (f"{one.name}: {one.serves}" for one in map(member, members) if one and one.serves)
    queue = text(spec.get("queue"))
    if queue and queue != "default":
        yield f"quotas of queue {queue} are not modelled"
    if any(EXCLUSIVE_TOPOLOGY in annotations(one) for one in members):
        yield "exclusive placement of LeaderWorkerSet is not modelled"
    if any(mapping(one.get("spec")).get("replicas") is None for one in members):
        yield "a LeaderWorkerSet without replicas counts as one with 1; an autoscaler may set another number"


def _schedulers(roles: tuple[RolePods, ...], *, is_gang: bool) -> Iterator[str]:
    """Say which scheduler is not the one that the plan is for."""
    modelled = VOLCANO if is_gang else DEFAULT_SCHEDULER
    pods = (pod for role in roles for pod in (role.leader, role.worker))
    for name in sorted({pod.scheduler for pod in pods} - {modelled}):
        yield f"scheduler {name} is not modelled; the plan is that of {modelled}"


# --- what is beside LeaderWorkerSets ----------------------------------------------------------------


def _priorities(objects: Iterable[Object]) -> dict[str, int]:
    found = {}
    for one in objects:
        value = one.get("value")
        if one.get("kind") == PRIORITY_CLASS and type(value) is int and abs(value) < 2**31:
            found[_name(one)] = value
    return found


def claim_templates(objects: Iterable[Object]) -> dict[tuple[str, str], Object]:
    """Return the ResourceClaimTemplates among objects, by namespace and name."""
    return _by_name(objects, CLAIM_TEMPLATE)


def _by_name(objects: Iterable[Object], kind: str) -> dict[tuple[str, str], Object]:
    """Return the objects of a kind by namespace and name."""
    return {
        (text(metadata(one).get("namespace")), _name(one)): one for one in objects if one.get("kind") == kind
    }


def _bound(pods: Iterable[Object]) -> dict[tuple[str, str], frozenset[tuple[int, int]]]:
    found: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for pod in pods:
        marks = labels(pod)
        name, group = text(marks.get(LWS_NAME)), whole(text(marks.get(GROUP_INDEX)))
        worker = whole(text(marks.get(WORKER_INDEX)))
        is_on_node = bool(text(mapping(pod.get("spec")).get("nodeName")))
        if name and group is not None and worker is not None and is_on_node and not _is_ending(pod):
            found.setdefault((text(metadata(pod).get("namespace")), name), set()).add((group, worker))
    return {key: frozenset(indices) for key, indices in found.items()}


def _is_ending(pod: Object) -> bool:
    phase = text(mapping(pod.get("status")).get("phase"))
    return bool(metadata(pod).get("deletionTimestamp")) or phase in {"Succeeded", "Failed"}


def _name(obj: Object) -> str:
    return text(metadata(obj).get("name"))
