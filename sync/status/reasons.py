"""The reasons of conditions: the status, the meaning and the remedy of each.

`docs/status.md` is generated from this table. A reason never changes its meaning, and has one status.
"""

from dataclasses import dataclass
from typing import Final, Literal

ConditionStatus = Literal["True", "False", "Unknown"]

CONDITIONS: Final = {
    "Initialized": "this generation could be read, and every role has its LeaderWorkerSet",
    "Scheduled": "at least one complete replica of every role is on nodes",
    "RoutesReady": "programmed gateways accept the routes, and the endpoint picker runs",
    "TemplatesApplied": "every role has its InferenceTemplates as they are now; absent: it names none",
    "Ready": "requests are served: `Initialized`, `Scheduled` and `RoutesReady`, "
    "and at least one complete replica of every role is ready",
    "Active": "the service is complete: every replica of every role is ready",
    "Progressing": "objects are being applied, pods are starting, or a rolling update is in progress",
    "Failed": "something is wrong that does not resolve with time",
}
"""Conditions in their order, and what `True` means."""
OPTIONAL: Final = frozenset({"TemplatesApplied"})
"""Conditions that only some services have."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One row."""

    condition: str
    reason: str
    status: ConditionStatus
    meaning: str
    remedy: str = ""
    """Empty if nothing needs to be done."""


_READ_MESSAGE: Final = "the message names the cause and its remedy"
_WAIT: Final = "wait a moment; if it persists, check that the controller that the message names is running"

REASONS: Final = (
    # InferenceService… are reasons of FusionInfer's Go controller (`pkg/controller/condition.go`).
    Reason("Initialized", "InferenceServiceCreating", "True", "every role has its LeaderWorkerSet"),
    Reason("Initialized", "CannotBeRead", "False", "the InferenceService cannot be read", _READ_MESSAGE),
    Reason(
        "Initialized",
        "LeaderWorkerSetMissing",
        "False",
        "a role has no LeaderWorkerSet yet",
        "if it persists, check `Failed` and the Events of the InferenceService",
    ),
    Reason("Scheduled", "AllScheduled", "True", "every replica is on nodes"),
    Reason(
        "Scheduled",
        "PartlyScheduled",
        "True",
        "every role has a replica on nodes, and some replicas are not",
        "to serve more, add the resources that the message names; nothing else is wrong",
    ),
    Reason(
        "Scheduled",
        "WaitingForRole",
        "False",
        "the gang starts when all of its roles exist",
        "add the missing role",
    ),
    Reason(
        "Scheduled",
        "WaitingForPodGroup",
        "False",
        "pods wait for their PodGroup",
        "check the Events of the LeaderWorkerSets, and that `fusioninfer sync` is running",
    ),
    Reason(
        "Scheduled",
        "WaitingForResources",
        "False",
        "the nodes have no capacity for a complete replica of a role",
        "add or free the resources that the message names; check the queue (`kubectl get queue`)",
    ),
    Reason(
        "Scheduled",
        "PodsMissing",
        "False",
        "a replica lacks pods",
        "if it persists, check the Events of the StatefulSets: a quota or a webhook may refuse pods",
    ),
    Reason("Scheduled", "NotObserved", "Unknown", "the observed objects are of an earlier generation", _WAIT),
    Reason(
        "RoutesReady",
        "RoutesAccepted",
        "True",
        "programmed gateways accept the routes, and the endpoint picker runs",
    ),
    Reason("RoutesReady", "NoRoutesWanted", "True", "no routes are requested"),
    Reason(
        "RoutesReady",
        "NoHTTPRouteWanted",
        "True",
        "the pool and the endpoint picker exist; no HTTPRoute is requested",
        "refer to the InferencePool from an HTTPRoute of your own",
    ),
    Reason(
        "RoutesReady",
        "IngressCreated",
        "True",
        "the Ingress exists; nothing reports whether its controller serves it",
        "if it has no address, check that a controller serves its class",
    ),
    Reason(
        "RoutesReady",
        "PriorityNotApplied",
        "True",
        "requests are served, but the endpoint picker reads no InferenceObjectives of the priority",
        _READ_MESSAGE,
    ),
    Reason("RoutesReady", "RoutesRefused", "False", "the routes cannot be created", _READ_MESSAGE),
    Reason("RoutesReady", "RouteMissing", "False", "an object of the routes does not exist yet", _WAIT),
    Reason(
        "RoutesReady",
        "PoolMissing",
        "False",
        "the InferencePool that the router refers to does not exist",
        "create it, or correct `pool.ref.name`",
    ),
    Reason(
        "RoutesReady",
        "RouteNotAccepted",
        "False",
        "a gateway refuses the HTTPRoute",
        "change `httproute` or the listeners of the Gateway as the message says",
    ),
    Reason(
        "RoutesReady",
        "GatewayWithoutInferencePool",
        "False",
        "this gateway does not know InferencePool",
        "enable the inference extension of the gateway, or use a gateway that has it",
    ),
    Reason(
        "RoutesReady",
        "RefsNotResolved",
        "False",
        "a gateway cannot resolve a reference of the HTTPRoute or of the InferencePool",
        "allow or correct the reference that the message names",
    ),
    Reason(
        "RoutesReady",
        "PoolNotAccepted",
        "False",
        "a gateway refuses the InferencePool",
        "follow the message",
    ),
    Reason(
        "RoutesReady",
        "GatewayNotProgrammed",
        "False",
        "a Gateway of the HTTPRoute is not programmed, so it forwards no requests",
        "follow the message; it quotes the status of the Gateway",
    ),
    Reason(
        "RoutesReady",
        "PickerNotAvailable",
        "False",
        "the endpoint picker does not run",
        "read the log of the Deployment `<service>-epp`",
    ),
    Reason(
        "RoutesReady",
        "WaitingForGateway",
        "Unknown",
        "a gateway has not answered for this generation",
        "check that the Gateway exists, and that its controller is running",
    ),
    Reason(
        "RoutesReady", "NotObserved", "Unknown", "the observed objects are of an earlier generation", _WAIT
    ),
    Reason("TemplatesApplied", "TemplatesCurrent", "True", "every role has its templates as they are now"),
    Reason(
        "TemplatesApplied",
        "TemplateChanged",
        "False",
        "a template was changed or deleted since; pods keep running with what they have",
        "to take it, run `fusioninfer refresh`, or set `spec.followTemplates`",
    ),
    Reason(
        "TemplatesApplied",
        "TemplateMissing",
        "False",
        "a template that is needed now does not exist",
        "create the template, or correct the name in `baseRefs`",
    ),
    Reason("TemplatesApplied", "NotApplied", "False", "a role has no LeaderWorkerSet yet", "check `Failed`"),
    Reason(
        "TemplatesApplied",
        "TemplatesUnknown",
        "Unknown",
        "the controller cannot list templates",
        "switch templates on (`templates.enabled` of the chart), or restore the permission of the controller",
    ),
    Reason("Ready", "ServiceReady", "True", "requests are served"),
    Reason("Ready", "NotInitialized", "False", "`Initialized` is False", "check that condition"),
    Reason("Ready", "NotScheduled", "False", "`Scheduled` is False", "check that condition"),
    Reason("Ready", "ScaledToZero", "False", "a role is scaled to zero", "scale it up"),
    Reason(
        "Ready",
        "RoleNotReady",
        "False",
        "no replica of a role is ready",
        "wait until the model is loaded; `Failed` names a container that keeps failing",
    ),
    Reason("Ready", "RoutesNotReady", "False", "`RoutesReady` is False", "check that condition"),
    Reason("Ready", "NotObserved", "Unknown", "the observed objects are of an earlier generation", _WAIT),
    Reason("Active", "InferenceServiceAvailable", "True", "every replica of every role is ready"),
    Reason(
        "Active",
        "InferenceServiceProcessing",
        "False",
        "some replicas are not ready",
        "check `status.components`, then `Scheduled` and `Failed`",
    ),
    Reason("Active", "NotObserved", "Unknown", "the observed objects are of an earlier generation", _WAIT),
    Reason("Progressing", "Applying", "True", "the objects of this generation are being applied"),
    Reason("Progressing", "RollingUpdate", "True", "replicas are being replaced, one by one"),
    Reason("Progressing", "ReplicasNotReady", "True", "replicas are starting, or wait for nodes"),
    Reason(
        "Progressing",
        "Held",
        "False",
        "not all objects are applied, and an error must be repaired first",
        _READ_MESSAGE,
    ),
    Reason("Progressing", "Complete", "False", "everything is applied and ready"),
    Reason(
        "Failed", "InferenceServiceFailed", "True", "a rule is broken, or an object is refused", _READ_MESSAGE
    ),
    Reason("Failed", "PodsFailing", "True", "a container keeps failing", _READ_MESSAGE),
    Reason("Failed", "NothingFailed", "False", "no error is known"),
)
STATES: Final = {(row.condition, row.reason): row.status for row in REASONS}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The reason and the message of one condition, before it has a time."""

    reason: str
    message: str = ""
