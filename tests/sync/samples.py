"""Sample LeaderWorkerSets, members, PodGroups and InferenceServices."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from intent import Object
from intent.annotations import DEFAULT_ROLE, ComponentType
from intent.inferenceservice.read import InferenceServiceIntent
from intent.lws import KIND as LWS
from intent.service.member import Member, gangs
from intent.settings import Settings
from sync.kinds import POD
from sync.observed.cached import Owner
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.pod import ObservedPod
from sync.observed.pod_group import PodGroup, StoredPolicy
from sync.parts.desired import Desired
from sync.parts.gang import gang
from sync.snapshot import Situation, Snapshot
from sync.watch.cache import Cache

SETTINGS = Settings()
KEY = ("team-a", "r1")
APPLIED: list[Object] = [{"manager": "fusioninfer", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]
"""`managedFields` of what the controller applied."""


def member(name: str, component_type: ComponentType = "worker", **fields: Any) -> Member:
    """Return a member of service r1 with the scheduler volcano."""
    known: dict[str, Any] = {
        "role_name": DEFAULT_ROLE[component_type],
        "scheduler": "volcano",
        "size": 2,
        "uid": f"uid-{name}",
        "created": "2026-01-01",
    }
    return Member(KEY[0], name, KEY[1], component_type, **(known | fields))


def prefill(name: str = "p", **fields: Any) -> Member:
    """Return a prefiller of two pods."""
    return member(name, "prefiller", **fields)


def decode(name: str = "d", **fields: Any) -> Member:
    """Return a decoder of four pods."""
    return member(name, "decoder", **({"size": 4} | fields))


def planned(*members: Member, **known: Any) -> Desired:
    """Desire the gang of these members."""
    return gang(Situation(KEY, members, **known), SETTINGS)


def ours(*members: Member, roles: tuple[str, ...] = (), **fields: Any) -> PodGroup:
    """Return our stored PodGroup, owned by these members."""
    owners = tuple(Owner(LWS, one.name, one.uid) for one in members)
    named = frozenset(roles)
    return PodGroup(*KEY, uid="pg", service=KEY[1], applied=True, owners=owners, roles=named, **fields)


def policies(*members: Member) -> tuple[StoredPolicy, ...]:
    """Return the policies of members whose roles are required."""
    return tuple(StoredPolicy(one.name, one.size, 1) for one in members)


def resting(*names: str) -> tuple[StoredPolicy, ...]:
    """Return policies that require no group."""
    return tuple(StoredPolicy(name, 1, 0) for name in names)


def codes(decided: Desired) -> set[tuple[str, str]]:
    """Return subjects and codes of findings."""
    return {(finding.subject.name, finding.error.code) for finding in decided.all_findings}


def required(decided: Desired) -> dict[str, int]:
    """Return how many groups each policy of the PodGroup requires, without the last policy."""
    (pod_group,) = decided.objects
    return {one["name"]: one["minSubGroups"] for one in pod_group["spec"]["subGroupPolicy"][:-1]}


def seen(
    *members: Member,
    service: InferenceServiceIntent | None = None,
    pods: tuple[ObservedPod, ...] | None = (),
    rows: Mapping[str, tuple[Any, ...]] = MappingProxyType({}),
    **known: Any,
) -> Snapshot:
    """Return the snapshot of a service with these members; `pods` are None where they are not known."""
    key = members[0].key if members else (service.namespace, service.name) if service else KEY
    row = CachedInferenceService(*key, service.uid, key[1], intent=service) if service else None
    of_pods = {POD.kind: pods or ()}
    unknown = {POD.kind: "not known"} if pods is None else {}
    by_gang = gangs(members)
    first, own = Situation(key, by_gang.pop(key[1], ())), by_gang.items()
    others = tuple(Situation(key, of_one, group=name) for name, of_one in own)
    return Snapshot(first, row, {**of_pods, **rows}, unknown=unknown, revisions=others, **known)


def lws(name: str = "p", component_type: ComponentType = "prefiller", **spec: Any) -> Object:
    """Return a LeaderWorkerSet as it is stored after its expansion."""
    ours = {"service": KEY[1], "component-type": component_type, "role-name": DEFAULT_ROLE[component_type]}
    stamped = {f"fusioninfer.io/{key}": value for key, value in ours.items()}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "namespace": KEY[0],
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": stamped,
            "annotations": {**stamped, "fusioninfer.io/expansion": '{"v":1}'},
        },
        "spec": {
            "replicas": 1,
            "leaderWorkerTemplate": {"size": 2, "workerTemplate": template(labels=stamped)},
            **spec,
        },
    }


def alone(service: str, namespace: str = KEY[0]) -> Object:
    """Return a LeaderWorkerSet that is a service by itself."""
    made = lws(service, "worker")
    made["metadata"]["namespace"] = namespace
    pods = made["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
    pods["annotations"]["scheduling.k8s.io/group-name"] = service
    for texts in (made["metadata"]["labels"], made["metadata"]["annotations"]):
        texts["fusioninfer.io/service"] = service
    return made


def inference_service(*roles: Object, **metadata: Any) -> Object:
    """Return an InferenceService with a prefiller and a decoder, or with other roles."""
    known = {"namespace": KEY[0], "name": KEY[1], "uid": "uid-r1", "generation": 1}
    return {
        "apiVersion": "fusioninfer.io/v1alpha1",
        "kind": "InferenceService",
        "metadata": known | metadata,
        "spec": {"roles": list(roles) or [role("prefill", "prefiller"), role("decode", "decoder")]},
    }


def router(**fields: Any) -> Object:
    """Return a router whose HTTPRoute has a shared Gateway as its parent."""
    parent = {"namespace": "infra", "name": "shared"}
    known = {"name": "router", "componentType": "router", "httproute": {"parentRefs": [parent]}}
    return known | fields


def routed(*roles: Object, **metadata: Any) -> Object:
    """Return an InferenceService with a router beside a prefiller and a decoder, or beside other roles."""
    engines = roles or (role("prefill", "prefiller"), role("decode", "decoder"))
    return inference_service(*engines, router(), **metadata)


def role(name: str, component_type: ComponentType = "worker", **fields: Any) -> Object:
    """Return a role of one pod with an engine."""
    engine = {"name": "vllm", "image": "vllm/vllm-openai:v0.11.0", "args": ["--model", "Qwen/Qwen3-8B"]}
    pods = {"spec": {"containers": [engine]}}
    return {"name": name, "componentType": component_type, "replicas": 1, "template": pods, **fields}


def template(scheduler: str = "volcano", priority: str = "", labels: Object | None = None) -> Object:
    """Return a pod template in the gang of r1."""
    annotations = {"scheduling.k8s.io/group-name": KEY[1]}
    return {
        "metadata": {"annotations": annotations, "labels": dict(labels or {})},
        "spec": {"schedulerName": scheduler, "priorityClassName": priority},
    }


def hold(cache: Cache[Any], *rows: Any) -> None:
    """Have a cache hold these rows and no others, as if its watch had stalled, or its list were wrong."""
    for row in rows:
        cache.store(row)
    for name in cache.rows.keys() - {(row.namespace, row.name) for row in rows}:
        cache.drop(name)


def take(cache: Cache[Any], obj: Object) -> None:
    """Have a cache receive an object."""
    if row := cache.project(obj):
        cache.put(row)
