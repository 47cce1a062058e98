"""A cause: why a service, or a part of it, does not serve; and the reasons that no status has."""

from dataclasses import dataclass
from typing import Final, Literal

from catalog.codes import CODES
from sync.status.reasons import REASONS as STATUS_REASONS

LAYERS: Final = ("admission", "rules", "controller", "workload", "scheduling", "pods", "routes")
"""The order in which a service starts, and in which causes are looked for."""


Effect = Literal["blocks", "degrades", "note"]
"""Whether the service cannot serve, serves less than it should, or serves as it should."""
EFFECTS: Final[tuple[Effect, ...]] = ("blocks", "degrades", "note")


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause."""

    layer: str
    reason: str
    """A reason of this module, a reason of a status, or a code."""
    object: str
    """Kind and name of the object that it is about."""
    message: str
    remedy: str = ""
    effect: Effect = "blocks"


@dataclass(frozen=True, slots=True)
class CauseReason:
    """One row of the reasons that no status has."""

    layer: str
    reason: str
    meaning: str
    remedy: str


REASONS: Final = (
    CauseReason(
        "admission",
        "NotAnnotated",
        "the object does not opt in, so FusionInfer does nothing for it",
        "set the annotation fusioninfer.io/service on the object itself",
    ),
    CauseReason(
        "admission",
        "Bypassed",
        "the object bypasses admission",
        "remove the annotation fusioninfer.io/inject",
    ),
    CauseReason(
        "admission",
        "NotExpanded",
        "the object was stored without an answer of the webhook",
        "set the annotation fusioninfer.io/refresh to a new value: the webhook then expands the object",
    ),
    CauseReason(
        "admission",
        "WebhookMissing",
        "the object is not expanded, and the webhook configuration does not exist",
        "run `fusioninfer check`, apply the manifests, then set the annotation fusioninfer.io/refresh",
    ),
    CauseReason(
        "admission",
        "NamespaceExcluded",
        "the webhook is not called for this namespace",
        "create the service in another namespace, or change namespaceSelector of the webhooks",
    ),
    CauseReason(
        "admission",
        "Ejected",
        "the object was ejected: the annotations and the record of FusionInfer were removed together",
        "nothing, if that was intended; otherwise apply the author's annotated file",
    ),
    CauseReason("admission", "Deleted", "the object is being deleted", "wait, or look at its finalizers"),
    CauseReason(
        "controller",
        "ControllerNotRunning",
        "an object of the controller is missing, and nothing renews the controller's Lease",
        "check the pods of Deployment fusioninfer-sync; run `fusioninfer check`",
    ),
    CauseReason(
        "controller",
        "ObjectsMissing",
        "objects of the controller do not exist",
        "do what the message says; without one, look at the controller's log if it persists",
    ),
    CauseReason(
        "controller",
        "Paused",
        "an annotation pauses the service: the controller changes nothing",
        "remove the annotation fusioninfer.io/paused",
    ),
    CauseReason(
        "workload",
        "NotReconciled",
        "the manager of LeaderWorkerSet has not acted on the object",
        "check the pods of Deployment lws-system/lws-controller-manager",
    ),
    CauseReason(
        "workload",
        "PodsRefused",
        "the API server refuses the pods",
        "change what the message names: a quota, a policy, a Pod Security level, or a webhook",
    ),
    CauseReason(
        "scheduling",
        "QueueNotOpen",
        "the queue of the PodGroup does not exist, or is not open",
        "create or open the queue; check that volcano-controllers runs, which opens queues",
    ),
    CauseReason(
        "scheduling",
        "SchedulerNotRunning",
        "no scheduler has looked at the pods",
        "check that the scheduler that the message names runs",
    ),
    CauseReason(
        "scheduling",
        "ResourceNotOffered",
        "no node offers a resource that the pods request",
        "install the device plugin of the accelerator, or add nodes that have it",
    ),
    CauseReason(
        "pods",
        "ContainerNotStarted",
        "a container is not started",
        "change what the message names: a volume, a Secret, a ConfigMap, or the network",
    ),
    CauseReason(
        "pods",
        "InitContainerRunning",
        "an init container has not ended",
        "wait, for example while a model is downloaded; read its log with `kubectl logs POD -c CONTAINER`",
    ),
    CauseReason(
        "pods",
        "OutOfMemory",
        "a container exceeded its memory limit",
        "raise resources.limits.memory, or load less: a smaller model, fewer workers, a smaller cache",
    ),
    CauseReason(
        "pods",
        "WaitingForWorkers",
        "the leader runs and waits for workers of its group",
        "look at the workers that the message names",
    ),
    CauseReason(
        "pods",
        "NotReady",
        "a container runs and is not ready",
        "wait until the model is loaded; the log of the pod tells how far it is",
    ),
)
"""Reasons that no status has; `docs/troubleshooting.md` is generated from them."""
_REMEDIES: Final = {
    **{row.reason: row.remedy for row in STATUS_REASONS},
    **{row.reason: row.remedy for row in REASONS},
    **{code: row.remedy for code, row in CODES.items()},
}


def cause(layer: str, reason: str, about: str, message: str, effect: Effect = "blocks") -> Cause:
    """Return a cause with the remedy of its reason, which is not at the end of its message too."""
    text = message.removesuffix(f" ({reason})")
    return Cause(layer, reason, about, text, _REMEDIES.get(reason, ""), effect)
