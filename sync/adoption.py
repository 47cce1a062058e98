"""Whether an object that lost its owner may be given to its InferenceService."""

from intent import Object
from sync.client import NOT_FOUND, ApiError, Client
from sync.kinds import INFERENCE_SERVICE
from sync.request import get


async def owner_stays(client: Client, wanted: Object) -> bool:
    """Ask whether the InferenceService that is to control an object is there, and is to stay.

    What is known of it may be old: while it is deleted the garbage collector takes its owner references off,
    and what had one again would go with it. Kubernetes' own controllers ask before they adopt too
    (`pkg/controller/controller_ref_manager.go`, `RecheckDeletionTimestamp`).
    """
    metadata = wanted["metadata"]
    owner = next((one for one in metadata.get("ownerReferences", ()) if one.get("controller")), None)
    if owner is None:
        return True
    try:
        found = (await client.call(get(INFERENCE_SERVICE.path(metadata["namespace"], owner["name"]))))[
            "metadata"
        ]
    except ApiError as error:
        if error.code != NOT_FOUND:
            raise
        return False
    return bool(found["uid"] == owner["uid"]) and not found.get("deletionTimestamp")
