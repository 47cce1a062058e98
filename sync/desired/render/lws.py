"""The LeaderWorkerSets of an InferenceService: what a person could write, and who owns it."""

from intent import Object
from intent.annotations import SERVICE
from intent.inferenceservice.members import leader_worker_sets as written
from intent.inferenceservice.read import InferenceServiceIntent
from sync.desired.render.owners import service_reference


def leader_worker_sets(service: InferenceServiceIntent) -> tuple[Object, ...]:
    """Render them in the order of the roles."""
    return tuple(lws | {"metadata": lws["metadata"] | _ours(lws, service)} for lws in written(service))


def _ours(lws: Object, service: InferenceServiceIntent) -> Object:
    """Label it, so that the loop sees it even where admission is told to leave it alone; and own it."""
    labels = lws["metadata"].get("labels", {}) | {SERVICE: service.name}
    return {"labels": labels, "ownerReferences": [service_reference(service.name, service.uid)]}
