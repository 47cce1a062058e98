"""A gang as Volcano's PodGroup (`volcano.sh/apis` `pkg/apis/scheduling/v1beta1`; subgroups since 1.14).

No `minTaskMember`: it counts pods, and strands half replicas. No `minResources`: on a full cluster
a gang that lost pods would never be queued again.
"""

from intent import Object
from intent.annotations import ROLES, SERVICE
from sync.desired.plan import Gang, Policy
from sync.desired.render.owners import member_reference
from sync.observed.pod_group import API_VERSION, KIND


def pod_group(gang: Gang) -> Object:
    """Render the one PodGroup of a service, as an apply configuration."""
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": _metadata(gang), "spec": _spec(gang)}


def _metadata(gang: Gang) -> Object:
    metadata: Object = {
        "name": gang.name,
        **({"namespace": gang.namespace} if gang.namespace else {}),
        "labels": {SERVICE: gang.name},
        "annotations": {ROLES: ",".join(gang.roles)},
    }
    if owners := [member_reference(name, uid) for name, uid in gang.owners if uid]:
        metadata["ownerReferences"] = owners
    return metadata


def _spec(gang: Gang) -> Object:
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
