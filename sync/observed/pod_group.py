"""What the loop keeps of a PodGroup: a few slotted values. The JSON that it came from is dropped."""

from dataclasses import dataclass, field
from typing import Final

from intent import Object, lws
from intent.annotations import LWS_NAME, ROLES, SERVICE
from intent.shapes import listed, mapping, text
from sync.observed.cached import Owner, digest, is_applied, is_replaced, owners, version
from sync.observed.condition import conditions

API_VERSION: Final = "scheduling.volcano.sh/v1beta1"
KIND: Final = "PodGroup"


OWNED: Final = (
    *("minMember", "priorityClassName", "subGroupPolicy"),
    *("minTaskMember", "minResources"),
)
"""Fields of the spec that are nobody's but ours: what we do not want of them is taken out.

`queue` is not among them: where nobody names one, Volcano's webhook sets that of the namespace. The last two
are never wanted: they strand half replicas, or keep a gang from coming back.
"""


@dataclass(frozen=True, slots=True)
class PodGroup:
    """One `scheduling.volcano.sh/v1beta1` PodGroup, ours or not."""

    namespace: str
    name: str
    uid: str = ""
    service: str = ""
    """The service it was made for, whose name it has; empty if the controller did not make it."""
    applied: bool = False
    """Whether the controller applied it, by its `managedFields`."""
    replaced: bool = False
    """Whether others have written all of the spec that the controller applied."""
    owners: tuple[Owner, ...] = ()
    """The LeaderWorkerSets that own it."""
    roles: frozenset[str] = frozenset()
    """The roles with which its gate opened."""
    resting: frozenset[str] = frozenset()
    """Policies that require no group."""
    owned: tuple[str, ...] = ()
    """Fields of the spec that are set and nobody's but ours."""
    fingerprint: bytes = b""
    """Equal for two PodGroups that are equal in all that is ours."""
    made_for: str = ""
    """The LeaderWorkerSet for which LWS's own Volcano provider made it (KEP-407)."""
    deleting: bool = False
    message: str = ""
    """Why the gang cannot be scheduled, from Volcano's condition `Unschedulable`.

    The phase is not kept: it depends on `minMember` alone, and stays `Running` while a role of the gang is
    gone. Whether pods are placed is read from the pods.
    """
    version: int = field(default=0, compare=False)
    """Which version of the object it is; a later one is higher."""


def pod_group(obj: Object) -> PodGroup:
    """Project a PodGroup, stored or wanted."""
    metadata, spec = mapping(obj.get("metadata")), mapping(obj.get("spec"))
    name = text(metadata.get("name"))
    applied = is_applied(obj)
    return PodGroup(
        namespace=text(metadata.get("namespace")),
        name=name,
        uid=text(metadata.get("uid")),
        service=name if applied else "",
        applied=applied,
        replaced=is_replaced(obj),
        owners=_owners(metadata),
        roles=_roles(metadata),
        resting=frozenset(text(one["name"]) for one in _policies(spec) if not one.get("minSubGroups")),
        owned=tuple(field for field in OWNED if spec.get(field)),
        fingerprint=_fingerprint(metadata, spec),
        made_for=_made_for(metadata),
        deleting=bool(metadata.get("deletionTimestamp")),
        message=_message(obj),
        version=version(metadata),
    )


def surplus(stored: PodGroup, asked: PodGroup) -> tuple[str, ...]:
    """Name the fields that are nobody's but ours, and not wanted: server-side apply leaves them in."""
    return tuple(field for field in stored.owned if field not in asked.owned)


def _fingerprint(metadata: Object, spec: Object) -> bytes:
    """Digest what server-side apply of ours sets, in canonical form; defaults of others take no part."""
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
    """Name the LeaderWorkerSet whose pod owns it (LWS `pkg/schedulerprovider/volcano_provider.go`)."""
    owned_by_pod = any(owner.kind == "Pod" for owner in owners(metadata))
    return text(mapping(metadata.get("labels")).get(LWS_NAME)) if owned_by_pod else ""


def _owners(metadata: Object) -> tuple[Owner, ...]:
    return tuple(owner for owner in owners(metadata) if owner.kind == lws.KIND)


def _message(obj: Object) -> str:
    found = conditions(mapping(obj.get("status")).get("conditions"))
    messages = (one.message for one in found if one.type == "Unschedulable" and one.status == "True")
    return next(messages, "")


def _policies(spec: Object) -> list[Object]:
    return [policy for one in listed(spec.get("subGroupPolicy")) if (policy := mapping(one)).get("name")]
