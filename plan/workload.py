"""Services as the scheduler sees them: expanded LeaderWorkerSets and PodGroups as roles, and their groups."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Final

from intent import Object
from intent.annotations import EXCLUSIVE_TOPOLOGY, GROUP_INDEX, LWS_NAME
from intent.lws import KIND as LWS
from intent.service.member import Member, ejected, member, workload_of
from intent.shapes import annotations, labels, listed, mapping, metadata, number, text
from plan.amounts import PlanError, is_device
from plan.demand import Demand, PodShape, Templates, pod_shape

Pods = Counter[Demand]
"""How many pods of each demand."""
Groups = Counter[int]
"""How many groups of each role, by its index among those of a workload; zero is left out."""
Name = tuple[str, str]
"""Namespace and name of an object."""
NO_POD_GROUP: Final = "its PodGroup does not exist: a required role is missing, so its pods are not scheduled"
ENDED: Final = ("Succeeded", "Failed")
MOST_PODS: Final = 20_000
"""The most pods of one LeaderWorkerSet that are planned."""


@dataclass(frozen=True)
class RolePods:
    """One LeaderWorkerSet, with its pods: its groups are equal."""

    member: Member
    shapes: tuple[PodShape, ...]
    """That of a leader, and of groups of several pods that of a worker."""
    required: int = 0
    """How many whole groups must start before anything of the service does."""
    whole: int = 0
    """How many groups are on nodes as a whole: those are taken for the first ones."""

    @cached_property
    def demand(self) -> Demand:
        """That of a pod as large as the leader and as a worker, on nodes that both may use.

        Volcano does not try a node again that had no room for the leader or a worker of a group.
        """
        demands = [pod.demand for pod in self.shapes]
        asked = reduce(or_, (Counter(dict(demand.requests)) for demand in demands))
        where = dict.fromkeys(selector for demand in demands for selector in demand.where)
        return Demand(tuple(sorted(asked.items())), tuple(where))

    def pods(self, count: int) -> Pods:
        """Return the pods of so many groups."""
        workers = Pods({self.shapes[-1].demand: count * (self.member.size - 1)})
        return Pods({self.shapes[0].demand: count}) + workers

    def label(self, group: int) -> str:
        """Return the name of a group as tables show it; without its index if there is only one."""
        return f"{self.member.role_name}-{group}" if self.member.replicas > 1 else self.member.role_name


@dataclass(frozen=True)
class Workload:
    """What is scheduled together: the gang of a service, or a LeaderWorkerSet whose pods are in none."""

    namespace: str
    name: str
    roles: tuple[RolePods, ...]
    is_gang: bool = True
    """Whether it has a PodGroup; else every pod is placed by itself."""
    priority: int = 0
    waits: str = ""
    """Why none of its pods starts, however many nodes there are; empty if they may."""
    unmodelled: tuple[str, ...] = ()
    """What counts for it as a whole, and is not modelled."""

    @property
    def title(self) -> str:
        """The name with its namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @cached_property
    def unknown(self) -> str:
        """Why it is not known whether its pods have room, so that none is placed; empty if it is."""
        reasons = (why for role in self.roles for pod in role.shapes for why in pod.unknown)
        why = "; ".join(dict.fromkeys(reasons))
        return why and f"{self.title}: not known whether its pods have room: {why}"

    @cached_property
    def groups(self) -> Groups:
        """All groups that it has."""
        return +Groups({index: role.member.replicas for index, role in enumerate(self.roles)})

    @cached_property
    def required(self) -> Groups:
        """The groups that must start, together, before any other."""
        return +Groups({index: role.required for index, role in enumerate(self.roles)})

    def pods(self, groups: Groups) -> Pods:
        """Return the pods of groups."""
        return sum((self.roles[index].pods(count) for index, count in groups.items()), Pods())

    def labels(self, groups: Groups, after: Groups) -> list[str]:
        """Return the names of groups that come after others, in the order of their roles."""
        counts = sorted((groups & (self.groups - after)).items())
        each = ((index, after[index] + number) for index, count in counts for number in range(count))
        return [self.roles[index].label(group) for index, group in each]


# --- from objects -----------------------------------------------------------------------------------


def workloads(
    objects: Iterable[Object], pods: Iterable[Object] = (), *, devices: bool = False
) -> tuple[Workload, ...]:
    """Return the services of expanded objects, in the order of their first LeaderWorkerSet.

    `pods`: those of the cluster; the ones on nodes count as started. `devices`: whether the nodes have those
    that pods claim (DRA). Raises `PlanError`.
    """
    objects = tuple(objects)
    classes, pod_groups = _of_kind(objects, "PriorityClass"), _of_kind(objects, "PodGroup")
    priorities = {name: number(each.get("value")) for (_, name), each in classes.items()}
    templates, bound = _of_kind(objects if devices else (), "ResourceClaimTemplate"), _bound(pods)
    gangs = defaultdict[tuple[str, str, str], list[tuple[Member, Object]]](list)
    for lws in _of_kind(objects, LWS).values():
        read = member(lws) or ejected(lws) or workload_of(lws)
        gangs[read.namespace, read.group, "" if read.group else read.name].append((read, lws))
    planned = []
    for (namespace, group, alone), members in gangs.items():
        pod_group = pod_groups.get((namespace, group))
        spec = mapping(mapping(pod_group).get("spec"))
        required = dict(map(_required, listed(spec.get("subGroupPolicy"))))
        if alone:  # pods come one by one: of groups of several, all or none are promised
            required = {each.name: each.replicas for each, _ in members if each.size > 1}
        roles = [_role(*each, required, bound[namespace, each[0].name], templates) for each in members]
        empty = [role.member.role_name for role in roles if role.member.replicas < role.required]
        waits = f"{' and '.join(empty)} must start too, and has replicas 0" if empty else ""
        workload = Workload(
            namespace,
            group or alone,
            tuple(roles),
            is_gang=bool(group),
            priority=priorities.get(text(spec.get("priorityClassName")), 0),
            waits=waits if alone or pod_group else NO_POD_GROUP,
            unmodelled=tuple(_unmodelled((lws for _, lws in members), spec, priorities)),
        )
        planned.append(workload)
    return tuple(planned)


def accelerators(planned: Iterable[Workload]) -> set[str]:
    """Return the accelerator resources that services request."""
    pods = (pod for workload in planned for role in workload.roles for pod in role.shapes)
    return {name for pod in pods for name, amount in pod.demand.requests if amount and is_device(name)}


def _of_kind(objects: Iterable[Object], kind: str) -> dict[Name, Object]:
    return {_name(each): each for each in objects if each.get("kind") == kind}


def _name(obj: Object) -> Name:
    return text(metadata(obj).get("namespace")), text(metadata(obj).get("name"))


def _required(policy: object) -> tuple[str, int]:
    """Return of a policy of a PodGroup the LeaderWorkerSet, and how many whole groups must start."""
    selector = mapping(mapping(mapping(policy).get("labelSelector")).get("matchLabels"))
    return text(selector.get(LWS_NAME)), number(mapping(policy).get("minSubGroups"))


def _role(
    read: Member, lws: Object, required: Mapping[str, int], bound: Counter[str], templates: Templates
) -> RolePods:
    """Read a role. One that has no replicas rests: after a minute, the controller does not require it.

    One of a DisaggregatedSet is required until pods of its revision were bound.
    """
    spec = mapping(lws.get("spec"))
    group = mapping(spec.get("leaderWorkerTemplate"))
    if number(group.get("size"), 1) < 1 or number(spec.get("replicas")) < 0:
        raise PlanError(f"LeaderWorkerSet {read.name}: `size` is at least 1, and `replicas` at least 0")
    if read.size * max(read.replicas, 1) > MOST_PODS:
        raise PlanError(f"LeaderWorkerSet {read.name}: more than {MOST_PODS} pods are not planned")
    worker = mapping(group.get("workerTemplate"))
    pods = (mapping(group.get("leaderTemplate")) or worker, worker)[: read.size]
    return RolePods(
        read,
        tuple(pod_shape(template, templates, read.namespace) for template in pods),
        required=required.get(read.name, 0) if read.replicas or read.revision else 0,
        whole=min(read.replicas, sum(count >= read.size for count in bound.values())),
    )


def _unmodelled(members: Iterable[Object], pod_group: Object, priorities: Container[str]) -> Iterator[str]:
    """Yield what counts for a service as a whole, and is not modelled."""
    notes = map(annotations, members)
    queue, class_name = text(pod_group.get("queue")), text(pod_group.get("priorityClassName"))
    has = {
        f"quotas of queue {queue}": queue not in {"", "default"},
        f"the value of PriorityClass {class_name}": class_name and class_name not in priorities,
        "exclusive placement of LeaderWorkerSet": any(EXCLUSIVE_TOPOLOGY in each for each in notes),
    }
    yield from (what for what, present in has.items() if present)


def _bound(pods: Iterable[Object]) -> Mapping[Name, Counter[str]]:
    """Return how many pods of each group of a LeaderWorkerSet are on nodes, and do not end."""
    there = defaultdict[Name, Counter[str]](Counter)
    for pod in pods:
        marks, phase = labels(pod), mapping(pod.get("status")).get("phase")
        is_ending = metadata(pod).get("deletionTimestamp") or phase in ENDED
        if mapping(pod.get("spec")).get("nodeName") and not is_ending:
            there[_name(pod)[0], text(marks.get(LWS_NAME))][text(marks.get(GROUP_INDEX))] += 1
    return there
