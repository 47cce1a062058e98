"""The shape that each part of a service returns: objects that there should be, and what to say about them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from intent import Object, lws
from intent.annotations import SERVICE
from intent.errors import Finding
from intent.inferenceservice import v1alpha1
from intent.inferenceservice.read import InferenceServiceIntent
from intent.service.member import Member, ServiceKey
from sync.kinds import OUTPUTS


@dataclass(frozen=True, slots=True)
class Desired:
    """The objects that a service should have, in the order in which they are applied, and findings."""

    objects: tuple[Object, ...] = ()
    held: frozenset[str] = frozenset()
    """Kinds whose objects are not deleted."""
    findings: tuple[Finding, ...] = ()
    of_routes: tuple[Finding, ...] = ()
    """Findings about the routes alone."""
    requeue_after: float | None = None
    """Seconds after which the result may change by time alone."""
    held_objects: frozenset[tuple[str, str]] = frozenset()
    """Kind and name of single objects that are not deleted."""

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """All findings, those about routes last."""
        return self.findings + self.of_routes


def combined(parts: Iterable[Desired]) -> Desired:
    """Combine several parts."""
    objects, findings, of_routes = list[Object](), list[Finding](), list[Finding]()
    held, held_objects, seconds = set[str](), set[tuple[str, str]](), set[float | None]()
    for part in parts:
        objects += part.objects
        findings += part.findings
        of_routes += part.of_routes
        held |= part.held
        held_objects |= part.held_objects
        seconds.add(part.requeue_after)
    again = min((each for each in seconds if each is not None), default=None)
    return Desired(
        tuple(objects), frozenset(held), tuple(findings), tuple(of_routes), again, frozenset(held_objects)
    )


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an object was not written, with its code."""

    code: str
    message: str
    """What is wrong; the finding adds when the write is tried again."""
    kind: str
    """Its kind, or what it is a part of (`kinds.part_of`)."""
    about: tuple[str, ...]
    """Kind and name of the object; its kind alone if all of its kind are refused for the same cause."""
    retryable: bool = False
    """Whether another try may succeed."""


# --- objects ----------------------------------------------------------------------------------------


def manifest(kind: str, key: ServiceKey, name: str, owners: Iterable[Object], **content: Any) -> Object:
    """Return an object of a service as it is applied, with these fields beside its metadata.

    The label is on the object, not on its pods. Offline there is no namespace, and owners have no uid.
    """
    namespace, service = key
    references = [owner for owner in owners if owner["uid"]]
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "labels": {SERVICE: service},
        **({"ownerReferences": references} if references else {}),
    }
    identity = {"apiVersion": OUTPUTS[kind].resource.api_version, "kind": kind}
    return {**identity, "metadata": metadata, **content}


def owners(service: InferenceServiceIntent | None, members: Iterable[Member]) -> tuple[Object, ...]:
    """Return the owners of what is made for a service: its InferenceService, else its members."""
    if service is not None:
        return (service_reference(service),)
    return tuple(member_reference(*one) for one in sorted((one.name, one.uid) for one in members))


def member_reference(name: str, uid: str) -> Object:
    """Return a member as an owner: the object is deleted with its last member, and blocks no deletion."""
    return {"apiVersion": lws.API_VERSION, "kind": lws.KIND, "name": name, "uid": uid}


def service_reference(service: InferenceServiceIntent) -> Object:
    """Return an InferenceService as the controlling owner.

    No `blockOwnerDeletion`: it needs the right to update finalizers (admission plugin
    OwnerReferencesPermissionEnforcement, on in OpenShift), and no deletion has to wait here.
    """
    identity = {"apiVersion": v1alpha1.API_VERSION, "kind": v1alpha1.KIND}
    return {**identity, "name": service.name, "uid": service.uid, "controller": True}
