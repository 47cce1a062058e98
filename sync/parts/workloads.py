"""Renders the LeaderWorkerSets of an InferenceService, their autoscalers, and a gang as Volcano's PodGroup.

PodGroup: `volcano.sh/apis` `pkg/apis/scheduling/v1beta1`; subgroups since 1.14. No `minTaskMember`: it counts
pods, and strands half replicas. No `minResources`: on a full cluster a gang that lost pods would never be
queued again.
"""

from collections.abc import Iterator

from intent import Object
from intent.annotations import ROLES, SERVICE
from intent.inferenceservice.members import leader_worker_sets as written
from intent.inferenceservice.members import member_name
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent
from intent.lws import API_VERSION as LWS_API_VERSION
from intent.lws import KIND as LWS
from sync.observed import autoscaler
from sync.observed.pod_group import API_VERSION, KIND
from sync.parts.gang import Gang, GangPlan, Policy
from sync.parts.metadata import member_reference, service_reference


def gang_objects(plan: GangPlan) -> tuple[Object, ...]:
    """Render every object of the plan of a gang."""
    return (pod_group(plan.gang),) if plan.gang else ()


def pod_group(gang: Gang) -> Object:
    """Render the one PodGroup of a service, as an apply configuration."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": _gang_metadata(gang),
        "spec": _gang_spec(gang),
    }


def _gang_metadata(gang: Gang) -> Object:
    metadata: Object = {
        "name": gang.name,
        **({"namespace": gang.namespace} if gang.namespace else {}),
        "labels": {SERVICE: gang.service},
        "annotations": {ROLES: ",".join(gang.roles)},
    }
    if owners := [member_reference(name, uid) for name, uid in gang.owners if uid]:
        metadata["ownerReferences"] = owners
    return metadata


def _gang_spec(gang: Gang) -> Object:
    spec: Object = {
        "minMember": gang.min_member,
        "subGroupPolicy": [_sub_group_policy(policy) for policy in gang.policies],
    }
    if gang.queue:
        spec["queue"] = gang.queue
    if gang.priority_class:
        spec["priorityClassName"] = gang.priority_class
    return spec


def _sub_group_policy(policy: Policy) -> Object:
    """Render one policy; without `matchLabelKeys` it would match nothing."""
    key, value = policy.label
    return {
        "name": policy.name,
        "labelSelector": {"matchLabels": {key: value}},
        "matchLabelKeys": [policy.key],
        "subGroupSize": policy.size,
        "minSubGroups": policy.required,
    }


def leader_worker_sets(service: InferenceServiceIntent) -> tuple[Object, ...]:
    """Render the LeaderWorkerSets as a user could write them, with their owner, in the order of the roles."""
    return tuple(lws | {"metadata": lws["metadata"] | _ours(lws, service)} for lws in written(service))


def _ours(lws: Object, service: InferenceServiceIntent) -> Object:
    """Return the label, by which the controller finds it even without admission, and the owner."""
    labels = lws["metadata"].get("labels", {}) | {SERVICE: service.name}
    return {"labels": labels, "ownerReferences": [service_reference(service.name, service.uid)]}


def autoscalers(service: InferenceServiceIntent) -> Iterator[Object]:
    """Render the HorizontalPodAutoscaler of each role with `scaling`: it has the name of what it scales."""
    for role in service.roles:
        if role.scaling is not None:
            yield _autoscaler(service, role, role.scaling)


def _autoscaler(service: InferenceServiceIntent, role: RoleIntent, scaling: Object) -> Object:
    name = member_name(service, role)
    target = {"apiVersion": LWS_API_VERSION, "kind": LWS, "name": name}
    return {
        "apiVersion": autoscaler.API_VERSION,
        "kind": autoscaler.KIND,
        "metadata": {
            "name": name,
            **({"namespace": service.namespace} if service.namespace else {}),
            "labels": {SERVICE: service.name},
            **({"ownerReferences": [service_reference(service.name, service.uid)]} if service.uid else {}),
        },
        "spec": {**scaling, "scaleTargetRef": target},
    }
