"""Who owns what the loop makes, so that the garbage collector takes it along."""

from intent import Object, lws
from intent.inferenceservice import v1alpha1


def member_reference(name: str, uid: str) -> Object:
    """Let an object go with its last member; nobody's deletion waits for it."""
    return {"apiVersion": lws.API_VERSION, "kind": lws.KIND, "name": name, "uid": uid}


def service_reference(name: str, uid: str) -> Object:
    """Let an object go with its InferenceService, which alone controls it.

    No `blockOwnerDeletion`: it would need the right to update finalizers (admission plugin
    OwnerReferencesPermissionEnforcement, on in OpenShift), and nothing here has to be gone first.
    """
    return {
        "apiVersion": v1alpha1.API_VERSION,
        "kind": v1alpha1.KIND,
        "name": name,
        "uid": uid,
        "controller": True,
    }
