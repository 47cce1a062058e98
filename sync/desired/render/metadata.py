"""Renders the metadata and the owner references of objects."""

from intent import Object, lws
from intent.annotations import SERVICE
from intent.inferenceservice import v1alpha1
from sync.desired.routes import Routes


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


def metadata(routes: Routes, name: str) -> Object:
    """Render the metadata of one object; the service label is on the object, not on its pods."""
    found: Object = {
        "name": name,
        **({"namespace": routes.namespace} if routes.namespace else {}),
        "labels": {SERVICE: routes.service},
    }
    if owners := _owner_references(routes):
        found["ownerReferences"] = owners
    return found


def _owner_references(routes: Routes) -> list[Object]:
    if routes.owner is not None:
        return [service_reference(*routes.owner)] if routes.owner[1] else []
    return [member_reference(name, uid) for name, uid in routes.members if uid]
