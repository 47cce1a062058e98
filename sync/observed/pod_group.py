"""Projection of a PodGroup: a few slotted values; the JSON that they come from is dropped."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from intent import Object, lws
from intent.annotations import LWS_NAME, ROLES, SERVICE
from intent.gang import revision_of
from intent.shapes import listed, mapping, number, text
from sync.observed.cached import AppliedObject, Owner, applies, common_fields, digest, owners
from sync.observed.condition import conditions
from sync.observed.index_keys import POD_GROUP, IndexKey, Key

API_VERSION: Final = "scheduling.volcano.sh/v1beta1"
KIND: Final = POD_GROUP
OWNED: Final = (
    *("minMember", "priorityClassName", "subGroupPolicy"),
    *("minTaskMember", "minResources"),
)
"""Fields of the spec that belong to the controller alone: it removes those that are not desired.

`queue` is not among them: where no member names one, Volcano's webhook sets that of the namespace. The last
two are never desired: they strand half replicas, or keep a gang from being scheduled again.
"""


class StoredPolicy(NamedTuple):
    """One entry of `spec.subGroupPolicy`."""

    name: str
    """The LeaderWorkerSet whose pods it selects, whatever its own name is; else that name."""
    size: int
    required: int


@dataclass(frozen=True, slots=True)
class PodGroup(AppliedObject):
    """One `scheduling.volcano.sh/v1beta1` PodGroup, made by the controller or not.

    `service` is empty unless the controller applied it: then it is its own name, or for one of a revision the
    label. `owners` are LeaderWorkerSets only.
    """

    roles: frozenset[str] = frozenset()
    """The roles with which its gate opened."""
    policies: tuple[StoredPolicy, ...] = ()
    """The entries of `spec.subGroupPolicy`."""
    edited: bool = False
    """Whether the policies are not as the controller applied them last, or not its own."""
    queue: str = ""
    owned: tuple[str, ...] = ()
    """The fields of `OWNED` that are set."""
    message: str = ""
    """Why the gang cannot be scheduled: Volcano's condition `Unschedulable`.

    The phase is not kept. It depends on `minMember` alone, and stays `Running` while a role of the gang is
    gone. Whether pods are placed is read from the pods.
    """

    @property
    def resting(self) -> frozenset[str]:
        """The LeaderWorkerSets of which no group is required."""
        return frozenset(policy.name for policy in self.policies if not policy.required)


def pod_group(obj: Object) -> PodGroup:
    """Project a PodGroup, either stored or desired."""
    metadata, spec = mapping(obj.get("metadata")), mapping(obj.get("spec"))
    common = common_fields(obj)
    service = _service(metadata, common["name"]) if common["applied"] else ""
    return PodGroup(
        **common
        | {"service": service, "owners": _owners(metadata), "fingerprint": _fingerprint(metadata, spec)},
        index_keys=_index_keys(common["namespace"], common["name"], service, _made_for(metadata)),
        roles=_roles(metadata),
        policies=_policies(spec),
        edited=not applies(obj, "subGroupPolicy"),
        queue=text(spec.get("queue")),
        owned=tuple(field for field in OWNED if spec.get(field)),
        message=_message(obj),
    )


def _index_keys(namespace: str, name: str, service: str, made_for: str) -> tuple[Key, ...]:
    """Return the keys of the service of its name, of itself, and of its LeaderWorkerSet (`made_for`)."""
    named = ((namespace, name),) if service in {"", name} else ()
    own = (*named, IndexKey(POD_GROUP, namespace, name))
    return (*own, IndexKey(lws.KIND, namespace, made_for)) if made_for else own


def _service(metadata: Object, name: str) -> str:
    """Return the service of the label if the PodGroup is that of a revision, else the name."""
    label = text(mapping(metadata.get("labels")).get(SERVICE))
    return name if revision_of(label, name) is None else label


def surplus(stored: PodGroup, desired: PodGroup) -> tuple[str, ...]:
    """Return the fields of `OWNED` that are stored and not desired; server-side apply would leave them in."""
    return tuple(field for field in stored.owned if field not in desired.owned)


def pruned_fields(desired: Object, answer: Object) -> str:
    """Return why the API server's answer to a dry run is not the desired PodGroup; empty if it is.

    The definition of Volcano before 1.14 lacks the policies, and drops them silently.
    """
    if pod_group(answer).policies == pod_group(desired).policies:
        return ""
    return "this cluster's PodGroup does not keep spec.subGroupPolicy; Volcano 1.14.1 or later is needed"


def _fingerprint(metadata: Object, spec: Object) -> bytes:
    """Digest the fields that the controller applies, in canonical form; defaults of others do not count."""
    owned = {
        "service": mapping(metadata.get("labels")).get(SERVICE),
        "roles": mapping(metadata.get("annotations")).get(ROLES),
        "owners": sorted((owner.uid, owner.name) for owner in _owners(metadata)),
        "spec": {field: spec[field] for field in (*OWNED, "queue") if spec.get(field)},
    }
    return digest(owned)


def _roles(metadata: Object) -> frozenset[str]:
    roles = text(mapping(metadata.get("annotations")).get(ROLES))
    return frozenset(role for role in roles.split(",") if role)


def _made_for(metadata: Object) -> str:
    """Return the LeaderWorkerSet for which LWS's own Volcano provider made it, for a pod of it (KEP-407).

    Source: LWS `pkg/schedulerprovider/volcano_provider.go`.
    """
    owned_by_pod = any(owner.kind == "Pod" for owner in owners(metadata))
    return text(mapping(metadata.get("labels")).get(LWS_NAME)) if owned_by_pod else ""


def _owners(metadata: Object) -> tuple[Owner, ...]:
    return tuple(owner for owner in owners(metadata) if owner.kind == lws.KIND)


def _policies(spec: Object) -> tuple[StoredPolicy, ...]:
    named = (policy for one in listed(spec.get("subGroupPolicy")) if (policy := mapping(one)).get("name"))
    return tuple(
        StoredPolicy(
            _selected(one) or text(one["name"]),
            max(1, number(one.get("subGroupSize"))),
            number(one.get("minSubGroups")),
        )
        for one in named
    )


def _selected(policy: Object) -> str:
    """Return the LeaderWorkerSet whose pods a policy selects; empty if its selector names none."""
    return text(mapping(mapping(policy.get("labelSelector")).get("matchLabels")).get(LWS_NAME))


def _message(obj: Object) -> str:
    found = conditions(mapping(obj.get("status")).get("conditions"))
    messages = (one.message for one in found if one.type == "Unschedulable" and one.status == "True")
    return next(messages, "")
