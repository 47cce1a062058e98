"""Renders the metadata and the owner references of objects."""

from typing import Protocol

from intent import Object, lws
from intent.annotations import SERVICE
from intent.inferenceservice import v1alpha1


class Owned(Protocol):
    """What a plan says about the metadata of its objects."""

    @property
    def namespace(self) -> str:
        """The namespace; empty offline."""

    @property
    def service(self) -> str:
        """The name of the service."""

    @property
    def members(self) -> tuple[tuple[str, str], ...]:
        """Name and uid of the LeaderWorkerSets; they own the objects if there is no InferenceService."""

    @property
    def owner(self) -> tuple[str, str] | None:
        """Name and uid of the InferenceService."""


def member_reference(name: str, uid: str) -> Object:
    """Return a member as an owner: the object is deleted with its last member, and blocks no deletion."""
    return {"apiVersion": lws.API_VERSION, "kind": lws.KIND, "name": name, "uid": uid}


def service_reference(name: str, uid: str) -> Object:
    """Return an InferenceService as the controlling owner.

    No `blockOwnerDeletion`: it needs the right to update finalizers (admission plugin
    OwnerReferencesPermissionEnforcement, on in OpenShift), and no deletion has to wait here.
    """
    return {
        "apiVersion": v1alpha1.API_VERSION,
        "kind": v1alpha1.KIND,
        "name": name,
        "uid": uid,
        "controller": True,
    }


def metadata(plan: Owned, name: str) -> Object:
    """Render the metadata of one object; the service label is on the object, not on its pods."""
    found: Object = {
        "name": name,
        **({"namespace": plan.namespace} if plan.namespace else {}),
        "labels": {SERVICE: plan.service},
    }
    if owners := _owner_references(plan):
        found["ownerReferences"] = owners
    return found


def _owner_references(plan: Owned) -> list[Object]:
    if plan.owner is not None:
        return [service_reference(*plan.owner)] if plan.owner[1] else []
    return [member_reference(name, uid) for name, uid in plan.members if uid]
