"""The autoscaling of a workload: what llm-d's autoscaler (WVA) decides, and a HorizontalPodAutoscaler does.

Source: kserve `pkg/controller/v1alpha2/llmisvc/scaling.go` v0.20.0, `expectedVA` and `expectedHPA`.
"""

from typing import Final

from importer.account import NO_COUNTERPART, Account, dropped
from importer.kserve.bases import Merged
from importer.kserve.variables import child_name
from importer.leaves import Leaf, Tree, at, fields_at, origins, picked

API_VERSION: Final = "llmd.ai/v1alpha1"
KIND: Final = "VariantAutoscaling"
METRIC: Final = "wva_desired_replicas"
COST: Final = "10.0"
ACCELERATOR: Final = "inference.optimization/acceleratorName"
"""Of the labels of a workload, the one that WVA reads."""
_KEDA: Final = dropped(
    NO_COUNTERPART,
    "KEDA asks a Prometheus that KServe's configuration names: write a ScaledObject for the LeaderWorkerSet",
)


def scaled(role: str, workload: Tree, service: Merged, account: Account) -> tuple[Tree, Tree]:
    """Return `scaling` of a role, and the object by which WVA decides its replicas; None where there is none.

    KServe's HorizontalPodAutoscaler follows a metric of WVA, and so does ours.
    """
    scaling = fields_at(workload, "scaling")
    if not scaling:
        return None, None
    autoscaler = at(scaling, "wva", "hpa")
    limits = picked(scaling, "minReplicas", "maxReplicas")
    if autoscaler is None or "maxReplicas" not in limits:
        account.leave(scaling, _KEDA)
        return None, None
    variant = Leaf(child_name(service.name, "-kserve-prefill-va" if role == "prefill" else "-kserve-va"))
    metric = {"name": Leaf(METRIC), "selector": {"matchLabels": {"variant_name": variant}}}
    target = {"type": Leaf("Value"), "value": Leaf("1")}
    external = {"metric": metric, "target": target}
    own = {
        "minReplicas": Leaf(1),
        **limits,
        "metrics": [{"type": Leaf("External", tuple(origins(autoscaler))), "external": external}],
        **picked(autoscaler, "behavior"),
    }
    labels = {ACCELERATOR: at(workload, "labels", ACCELERATOR) or Leaf("unknown")}
    model = at(service.spec, "model", "name") or at(service.spec, "model", "uri")
    asked = {
        "apiVersion": Leaf(API_VERSION),
        "kind": Leaf(KIND),
        "metadata": {"name": variant, **picked(service.metadata, "namespace"), "labels": labels},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": Leaf("leaderworkerset.x-k8s.io/v1"),
                "kind": Leaf("LeaderWorkerSet"),
                "name": Leaf(f"{service.name}-{role}"),
            },
            "modelID": model or service.metadata["name"],
            "minReplicas": own["minReplicas"],
            "maxReplicas": own["maxReplicas"],
            "variantCost": at(scaling, "wva", "variantCost") or Leaf(COST),
        },
    }
    return own, asked
