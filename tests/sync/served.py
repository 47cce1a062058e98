"""InferenceServices that the controller serves in the fake cluster: names, objects, and how to read them."""

import copy
from typing import Any, Final

from intent import Object
from intent.settings import Settings
from sync.kinds import GATEWAYS, INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP
from tests.sync.fake_api import Api
from tests.sync.samples import inference_service, role, router
from webhook.expand import expanded

HOME: Final = "team-a"
SERVICE: Final = INFERENCE_SERVICE.path(HOME, "r1")
STATUS: Final = f"{SERVICE}/status"
PREFILL: Final = LWS.path(HOME, "r1-prefill")
DECODE: Final = LWS.path(HOME, "r1-decode")
PG: Final = POD_GROUP.path(HOME, "r1")
NAMES: Final = {
    "ServiceAccount": "r1-epp",
    "RoleBinding": "r1-epp-read",
    "ConfigMap": "r1-epp-config",
    "InferencePool": "r1-pool",
    "Deployment": "r1-epp",
    "Service": "r1-epp",
    "HTTPRoute": "r1-httproute",
}
ROUTES: Final = {kind: OUTPUTS[kind].path(HOME, name) for kind, name in NAMES.items()}
OWN_GATEWAY: Final = GATEWAYS.path(HOME, "r1-gateway")
LISTENER: Final = {"name": "web", "port": 80, "protocol": "HTTP"}
SETTINGS: Final = Settings()


def admit(obj: Object) -> None:
    """Expand LeaderWorkerSets as admission does, and set what the API server sets where it is absent."""
    if obj["kind"] == "LeaderWorkerSet":
        obj.update(expanded(obj, SETTINGS))
        obj["spec"] = {"startupPolicy": "LeaderCreated", "replicas": 1} | obj["spec"]
    if obj["kind"] == "HorizontalPodAutoscaler":
        obj["spec"].setdefault("minReplicas", 1)
    if obj["kind"] == "Deployment":
        obj["spec"].setdefault("progressDeadlineSeconds", 600)


def ready_pod(name: str, **status: Any) -> Object:
    """Return a running pod of a LeaderWorkerSet with one pod a group."""
    labels = {
        "fusioninfer.io/service": "r1",
        "leaderworkerset.sigs.k8s.io/name": name,
        "leaderworkerset.sigs.k8s.io/group-index": "0",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": HOME, "name": f"{name}-0", "labels": labels},
        "spec": {"nodeName": "node-1"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], **status},
    }


def accepted() -> Object:
    """Return the answer of the shared Gateway to an HTTPRoute that it accepts."""
    said = [
        {"type": kind, "status": "True", "observedGeneration": 1} for kind in ("Accepted", "ResolvedRefs")
    ]
    return {"parents": [{"parentRef": {"namespace": "infra", "name": "shared"}, "conditions": said}]}


def condition(api: Api, kind: str) -> Object:
    """Return one condition of the stored status; empty if there is none."""
    conditions = api.objects[SERVICE].get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def reported(api: Api, kind: str) -> str:
    """Return the reason of one condition of the stored status."""
    return str(condition(api, kind).get("reason", ""))


def reasons(api: Api) -> list[tuple[str, str, str]]:
    """Return subjects and reasons of the Events."""
    about = [(event["involvedObject"], event["reason"]) for event in api.findings()]
    return sorted((subject["kind"], subject["name"], reason) for subject, reason in about)


def change(api: Api, path: str, **fields: Any) -> None:
    """Change fields of an object by hand."""
    api.put(path, copy.deepcopy(api.objects[path]) | fields)


def annotate(api: Api, path: str, key: str, value: str | None) -> None:
    """Set or remove an annotation of ours by hand."""
    metadata = copy.deepcopy(api.objects[path]["metadata"])
    annotations = metadata.setdefault("annotations", {})
    annotations.pop(f"fusioninfer.io/{key}", None)
    annotations.update({} if value is None else {f"fusioninfer.io/{key}": value})
    change(api, path, metadata=metadata)


def deleted(api: Api) -> set[str]:
    """Return what the controller deleted."""
    return {path for method, path in api.writes if method == "DELETE"}


def told(api: Api, reason: str, kind: str = "InferenceService") -> list[str]:
    """Return the messages of the Events of a reason about objects of a kind."""
    found = (one for one in api.kept("events") if one["reason"] == reason)
    return [one["message"] for one in found if one["involvedObject"]["kind"] == kind]


def with_gateway() -> Object:
    """Return an InferenceService with its own Gateway."""
    own = router(gateway={"gatewayClassName": "istio", "listeners": [LISTENER]})
    del own["httproute"]
    return inference_service(role("prefill", "prefiller"), role("decode", "decoder"), own)
