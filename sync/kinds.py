"""The kinds that the loop reads and writes: one row each. A route is one more row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from intent import Object, service
from intent.annotations import SERVICE
from intent.service import Member, ServiceKey
from sync import projection, render, volcano

RIVAL: Final = "lws/"


def trusted(_asked: Object, _answer: Object) -> str:
    """Find nothing wrong with what the API server would store."""
    return ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One row."""

    api_version: str
    kind: str
    plural: str
    project: Callable[[Object], Any]
    """What is kept of an object, with its `namespace` and `name`; None if it does not concern us.

    Of what we write also `uid`, `service`, `fingerprint`, `owned`, `deleting`: see `projection.PodGroup`.
    """
    keys: Callable[[Any], tuple[ServiceKey, ...]]
    """By what a row is looked up."""
    selector: str = ""
    guard: Callable[[Object, Object], str] = trusted
    """What is wrong with the answer of a dry run to what was asked; empty if nothing is."""

    @property
    def collection(self) -> str:
        """The path of all of them, in every namespace."""
        return f"{_root(self.api_version)}/{self.plural}"

    def path(self, namespace: str, name: str = "") -> str:
        """Give the path of one of them, or of those in a namespace."""
        items = f"{_root(self.api_version)}/namespaces/{namespace}/{self.plural}"
        return f"{items}/{name}" if name else items


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def rival_key(namespace: str, lws: str) -> ServiceKey:
    """Give the key of PodGroups that LWS's own provider made; no service has a slash in its name."""
    return namespace, f"{RIVAL}{lws}"


def service_key(key: ServiceKey, members: Mapping[tuple[str, str], Member]) -> ServiceKey | None:
    """Give the service that a key is about; `members` are by namespace and name of their LeaderWorkerSet."""
    namespace, name = key
    if not name.startswith(RIVAL):
        return key
    member = members.get((namespace, name.removeprefix(RIVAL)))
    return member.key if member else None


def _of_member(member: Member) -> tuple[ServiceKey, ...]:
    return (member.key,)


def _of_pod_group(row: projection.PodGroup) -> tuple[ServiceKey, ...]:
    if row.made_for:
        return (row.namespace, row.name), rival_key(row.namespace, row.made_for)
    return ((row.namespace, row.name),)


LWS: Final = Kind(
    "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets", service.member, _of_member, SERVICE
)
POD_GROUP: Final = Kind(
    render.gang.API_VERSION,
    render.gang.KIND,
    "podgroups",
    projection.pod_group,
    _of_pod_group,
    guard=volcano.refusal,
)
OUTPUTS: Final = (POD_GROUP,)
"""What the loop applies and prunes."""
WATCHED: Final = (LWS, *OUTPUTS)
