"""The input of a plan: expanded LeaderWorkerSets and PodGroups, as `plan` reads them. Pure."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
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
)
from intent.lws import KIND as LWS
from intent.lws import read_revision
from intent.shapes import annotations, labels, listed, mapping, metadata, number, text, whole
from plan.amounts import is_device
from plan.demand import DEFAULT_SCHEDULER, pod_shape
from plan.devices import Templates
from plan.supply import ENDED
from plan.workload import Bound, RolePods, Workload

Name = tuple[str, str]
"""Namespace and name of an object."""
(WORKER_INDEX,) = LEADER_LABELS
"""The label with the index of a pod in its group; that of a leader is 0."""
NO_POD_GROUP: Final = "its PodGroup does not exist: a required role is missing, so its pods are not scheduled"
SCHEDULERS: Final = frozenset({"volcano", DEFAULT_SCHEDULER})
MOST_PODS: Final = 20_000
"""The most pods of one LeaderWorkerSet that are planned."""


class TooManyPodsError(ValueError):
    """Raised if there are more pods than are planned."""


def workloads(
    objects: Iterable[Object], pods: Iterable[Object] = (), *, devices: bool = False
) -> tuple[Workload, ...]:
    """Return the services of expanded objects, in the order of their first LeaderWorkerSet.

    `pods`: those of the cluster; the ones on nodes count as started. `devices`: whether the nodes have those
    that pods claim (DRA). Raises `TooManyPodsError`.
    """
    objects = tuple(objects)
    classes, pod_groups = _of_kind(objects, "PriorityClass"), _of_kind(objects, "PodGroup")
    priorities = {name: number(each.get("value")) for (_, name), each in classes.items()}
    templates, bound = _of_kind(objects, "ResourceClaimTemplate") if devices else None, _bound(pods)
    gangs: dict[Name, list[Object]] = {}
    for each in objects:
        if each.get("kind") == LWS:
            gangs.setdefault(_gang_of(each), []).append(each)
    planned = []
    for gang, members in gangs.items():
        spec, is_gang = mapping(pod_groups.get(gang, {}).get("spec")), not gang[1].startswith("lws/")
        required = dict(map(_required, listed(spec.get("subGroupPolicy"))))
        roles = [_role(each, required, bound.get(_name(each), {}), templates) for each in members]
        workload = Workload(
            gang[0],
            gang[1].removeprefix("lws/"),
            tuple(roles if is_gang else map(_of_no_gang, roles)),
            is_gang=is_gang,
            priority=priorities.get(text(spec.get("priorityClassName")), 0),
            held=NO_POD_GROUP if is_gang and gang not in pod_groups else "",
            notes=tuple(_notes(members, roles, spec, priorities)),
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


def _gang_of(lws: Object) -> Name:
    """Return the PodGroup of a LeaderWorkerSet; of one in none, its own name with a sign no name has."""
    namespace, name = _name(lws)
    return namespace, text(annotations(_templates(lws)[1]).get(GROUP_NAME)) or f"lws/{name}"


def _templates(lws: Object) -> tuple[Object, Object]:
    """Return the templates of leaders and workers; without one of its own, a leader has the workers'."""
    group = mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate"))
    worker = mapping(group.get("workerTemplate"))
    return mapping(group.get("leaderTemplate")) or worker, worker


def _required(policy: object) -> tuple[str, int]:
    """Return of a policy of a PodGroup the LeaderWorkerSet, and how many whole groups must start."""
    selector = mapping(mapping(mapping(policy).get("labelSelector")).get("matchLabels"))
    return text(selector.get(LWS_NAME)), number(mapping(policy).get("minSubGroups"))


def _role(lws: Object, required: Mapping[str, int], bound: Bound, templates: Templates | None) -> RolePods:
    """Read a role. One that has no replicas rests: after a minute, the controller does not require it.

    One of a DisaggregatedSet is required until pods of its revision were bound.
    """
    spec, marks, (namespace, name) = mapping(lws.get("spec")), labels(lws), _name(lws)
    counts = mapping(spec.get("leaderWorkerTemplate")).get("size"), spec.get("replicas")
    size, replicas = (1 if count is None else number(count) for count in counts)
    if size * max(replicas, 1) > MOST_PODS:
        raise TooManyPodsError(f"LeaderWorkerSet {name}: more than {MOST_PODS} pods are not planned")
    component = text(marks.get(COMPONENT_TYPE))
    return RolePods(
        name,
        text(marks.get(ROLE_NAME)) or name,
        next((each for each in COMPONENT_TYPES if each == component), "worker"),
        size,
        replicas,
        tuple(pod_shape(template, templates, namespace) for template in _templates(lws)[:size]),
        required=required.get(name, 0) if replicas or read_revision(marks) else 0,
        bound=bound,
    )


def _of_no_gang(role: RolePods) -> RolePods:
    """Return a role whose pods are placed one by one: of groups of several, all or none are promised."""
    return replace(role, required=role.replicas if role.size > 1 else 0)


def _notes(
    members: Iterable[Object], roles: Iterable[RolePods], pod_group: Object, priorities: Container[str]
) -> Iterator[str]:
    """Say what of a service is not modelled."""
    queue, class_name = text(pod_group.get("queue")), text(pod_group.get("priorityClassName"))
    if queue and queue != "default":
        yield f"quotas of queue {queue} are not modelled"
    if class_name and class_name not in priorities:
        yield f"the value of PriorityClass {class_name} is not known; 0 is assumed"
    if any(EXCLUSIVE_TOPOLOGY in annotations(each) for each in members):
        yield "exclusive placement of LeaderWorkerSet is not modelled"
    for name in sorted({pod.scheduler for role in roles for pod in role.shapes} - SCHEDULERS):
        yield f"scheduler {name} is not modelled"


def _bound(pods: Iterable[Object]) -> Mapping[Name, Bound]:
    """Return the pods of LeaderWorkerSets that are on nodes, and do not end."""
    there: dict[Name, dict[int, frozenset[int]]] = {}
    for pod in pods:
        marks = labels(pod)
        group, index = (whole(text(marks.get(key))) for key in (GROUP_INDEX, WORKER_INDEX))
        is_ending = metadata(pod).get("deletionTimestamp") or mapping(pod.get("status")).get("phase") in ENDED
        if (
            group is not None
            and index is not None
            and mapping(pod.get("spec")).get("nodeName")
            and not is_ending
        ):
            groups = there.setdefault((_name(pod)[0], text(marks.get(LWS_NAME))), {})
            groups[group] = groups.get(group, frozenset()) | {index}
    return there
