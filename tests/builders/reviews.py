"""AdmissionReviews as an API server sends them (`k8s.io/api` `admission/v1/types.go`)."""

from typing import Any, Final

from intent import Object
from intent.shapes import metadata

UID: Final = "705ab4f5-6393-11e8-b7cc-42010a800002"


def review(live: Any, old: Any = None, **more: Any) -> Object:
    """Return a CREATE, or an UPDATE if there is an old object; `more` sets other fields of the request."""
    request = {
        "uid": UID,
        "operation": "UPDATE" if old else "CREATE",
        "kind": {"group": "leaderworkerset.x-k8s.io", "version": "v1", "kind": "LeaderWorkerSet"},
        "namespace": metadata(live).get("namespace", "llm"),
        "object": live,
        "oldObject": old,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request | more}
