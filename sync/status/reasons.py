"""The reasons of conditions, of Events, and of `fusioninfer why`: one row each.

`docs/status.md` and `docs/troubleshooting.md` are generated from this table. A reason never changes its
meaning, and in a condition it has one status. Findings have codes instead (`catalog.codes`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

ConditionStatus = Literal["True", "False", "Unknown"]
EventType = Literal["Normal", "Warning"]

CONDITIONS: Final = {
    "Initialized": "this generation could be read, and every role has its LeaderWorkerSet",
    "Scheduled": "at least one complete replica of every role is on nodes",
    "RoutesReady": "programmed gateways accept the routes, and the endpoint picker runs",
    "TemplatesApplied": "every role has its InferenceTemplates as they are now; absent: it names none",
    "Ready": "requests are served: `Initialized`, `Scheduled` and `RoutesReady`, "
    "and at least one complete replica of every role is ready",
    "Active": "the service is complete: every replica of every role is ready",
    "Failed": "something is wrong that does not resolve with time",
}
"""Conditions in their order, and what `True` means."""
OPTIONAL: Final = frozenset({"TemplatesApplied"})
"""Conditions that only some services have."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One row: all of a reason but its messages. A field is empty if the reason has none."""

    reason: str
    meaning: str
    remedy: str = ""
    """Empty if nothing needs to be done."""
    condition: str = ""
    """The condition that has the reason."""
    status: ConditionStatus | Literal[""] = ""
    event: EventType | Literal[""] = ""
    """The type of the Event that has the reason, too."""
    layer: str = ""
    """The layer of `fusioninfer why` that reports it."""


_READ_MESSAGE: Final = "the message names the cause and its remedy"
_EARLIER: Final = "the observed objects are of an earlier generation"
_WAIT: Final = "wait a moment; if it persists, check that the controller that the message names is running"

_ROWS: Final[Mapping[str, Mapping[str, tuple[ConditionStatus, str, str, *tuple[EventType, ...]]]]] = {
    # InferenceService… are reasons of FusionInfer's Go controller (`pkg/controller/condition.go`).
    "Initialized": {
        "InferenceServiceCreating": ("True", "every role has its LeaderWorkerSet", ""),
        "CannotBeRead": ("False", "the InferenceService cannot be read", _READ_MESSAGE),
        "LeaderWorkerSetMissing": (
            "False",
            "a role has no LeaderWorkerSet yet",
            "if it persists, check `Failed` and the Events of the InferenceService",
        ),
    },
    "Scheduled": {
        "AllScheduled": ("True", "every replica is on nodes", ""),
        "PartlyScheduled": (
            "True",
            "every role has a replica on nodes, and some replicas are not",
            "to serve more, add the resources that the message names; nothing else is wrong",
        ),
        "WaitingForRole": ("False", "the gang starts when all of its roles exist", "add the missing role"),
        "WaitingForPodGroup": (
            "False",
            "pods wait for their PodGroup",
            "check the Events of the LeaderWorkerSets, and that `fusioninfer sync` is running",
        ),
        "WaitingForResources": (
            "False",
            "the nodes have no capacity for a complete replica of a role",
            "add or free the resources that the message names; check the queue (`kubectl get queue`)",
        ),
        "PodsMissing": (
            "False",
            "a replica lacks pods",
            "if it persists, check the Events of the StatefulSets: a quota or a webhook may refuse pods",
        ),
        "NotObserved": ("Unknown", _EARLIER, _WAIT),
    },
    "RoutesReady": {
        "RoutesAccepted": ("True", "programmed gateways accept the routes, and the endpoint picker runs", ""),
        "NoRoutesWanted": ("True", "no routes are requested", ""),
        "NoHTTPRouteWanted": (
            "True",
            "the pool and the endpoint picker exist; no HTTPRoute is requested",
            "refer to the InferencePool from an HTTPRoute of your own",
        ),
        "IngressCreated": (
            "True",
            "the Ingress exists; nothing reports whether its controller serves it",
            "if it has no address, check that a controller serves its class",
        ),
        "PriorityNotApplied": (
            "True",
            "requests are served, but the endpoint picker reads no InferenceObjectives of the priority",
            _READ_MESSAGE,
        ),
        "RoutesRefused": ("False", "the routes cannot be created", _READ_MESSAGE),
        "RouteMissing": (
            "False",
            "an object of the routes does not exist yet",
            "create the InferencePool of `pool.ref.name`; FusionInfer creates the others in a moment",
        ),
        "RouteNotAccepted": (
            "False",
            "a gateway refuses the HTTPRoute",
            "change `httproute` or the listeners of the Gateway as the message says",
        ),
        "GatewayWithoutInferencePool": (
            "False",
            "this gateway does not know InferencePool",
            "enable the inference extension of the gateway, or use a gateway that has it",
        ),
        "RefsNotResolved": (
            "False",
            "a gateway cannot resolve a reference of the HTTPRoute or of the InferencePool",
            "allow or correct the reference that the message names",
        ),
        "PoolNotAccepted": ("False", "a gateway refuses the InferencePool", "follow the message"),
        "GatewayNotProgrammed": (
            "False",
            "a Gateway of the HTTPRoute is not programmed, so it forwards no requests",
            "follow the message; it quotes the status of the Gateway",
        ),
        "PickerNotAvailable": (
            "False",
            "the endpoint picker does not run",
            "read the log of the Deployment `<service>-epp`",
        ),
        "WaitingForGateway": (
            "Unknown",
            "a gateway has not answered for this generation",
            "check that the Gateway exists, and that its controller is running",
        ),
        "NotObserved": ("Unknown", _EARLIER, _WAIT),
    },
    "TemplatesApplied": {
        "TemplatesCurrent": ("True", "every role has its templates as they are now", ""),
        "TemplateChanged": (
            "False",
            "a template was changed or deleted since; pods keep running with what they have",
            "to take it, run `fusioninfer refresh`, or set `spec.followTemplates`",
            "Normal",
        ),
        "TemplateMissing": (
            "False",
            "a template that is needed now does not exist",
            "create the template, or correct the name in `baseRefs`",
        ),
        "NotApplied": ("False", "a role has no LeaderWorkerSet yet", "check `Failed`"),
        "TemplatesUnknown": (
            "Unknown",
            "the controller cannot list templates",
            (
                "switch templates on (`templates.enabled` of the chart), "
                "or restore the permission of the controller"
            ),
        ),
    },
    "Ready": {
        "ServiceReady": ("True", "requests are served", "", "Normal"),
        "NotInitialized": ("False", "`Initialized` is False", "check that condition"),
        "NotScheduled": ("False", "`Scheduled` is False", "check that condition"),
        "ScaledToZero": ("False", "a role is scaled to zero", "scale it up"),
        "RoleNotReady": (
            "False",
            "no replica of a role is ready",
            "wait until the model is loaded; `Failed` names a container that keeps failing",
        ),
        "RoutesNotReady": ("False", "`RoutesReady` is False", "check that condition"),
        "NotObserved": ("Unknown", _EARLIER, _WAIT),
    },
    "Active": {
        "InferenceServiceAvailable": ("True", "every replica of every role is ready", ""),
        "InferenceServiceProcessing": (
            "False",
            "some replicas are not ready",
            "check `status.components`, then `Scheduled` and `Failed`",
        ),
        "NotObserved": ("Unknown", _EARLIER, _WAIT),
    },
    "Failed": {
        "InferenceServiceFailed": ("True", "a rule is broken, or an object is refused", _READ_MESSAGE),
        "PodsFailing": ("True", "a container keeps failing", _READ_MESSAGE),
        "NothingFailed": ("False", "no error is known", ""),
    },
}
"""By condition and reason: the status, what it means, the remedy, and the type of its Event if it has one."""
_IN_EVENTS: Final[Mapping[str, tuple[EventType, str]]] = {
    "Created": ("Normal", "objects of the roles of an InferenceService were created: LeaderWorkerSets"),
    "GangOpened": ("Normal", "every required role exists, and the PodGroup was created: pods may start"),
    "RoutesCreated": ("Normal", "objects of the routes were created"),
    "Updated": ("Normal", "objects were changed, because what is desired has changed"),
    "Deleted": ("Normal", "objects that are no longer desired were deleted"),
    "ChangeReverted": (
        "Warning",
        "another client changed or deleted an object of the controller, which restored it",
    ),
    "ServiceNotReady": ("Warning", "the condition `Ready` became False; the message names the reason"),
}
"""The reasons that only Events have: the type, and what happened. Those of findings are with the codes."""
_IN_WHY: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "admission": {
        "NotAnnotated": (
            "the object does not opt in, so FusionInfer does nothing for it",
            "set the annotation fusioninfer.io/service on the object itself",
        ),
        "Bypassed": ("the object bypasses admission", "remove the annotation fusioninfer.io/inject"),
        "NotExpanded": (
            "the object was stored without an answer of the webhook",
            "run `fusioninfer check`; then give the annotation fusioninfer.io/refresh a new value",
        ),
        "BeingDeleted": ("the object is being deleted", "wait, or look at its finalizers"),
    },
    "controller": {
        "ControllerNotRunning": (
            "an object of the controller is missing, and nothing renews the controller's Lease",
            "check the pods of Deployment fusioninfer-sync; run `fusioninfer check`",
        ),
        "ObjectsMissing": (
            "objects of the controller do not exist",
            "do what the message says; without one, look at the controller's log if it persists",
        ),
        "Paused": (
            "objects of the controller do not exist, and an annotation pauses it for the service",
            "remove the annotation fusioninfer.io/paused",
        ),
    },
    "workload": {
        "NotReconciled": (
            "the manager of LeaderWorkerSet has not acted on the object",
            "check the pods of Deployment lws-system/lws-controller-manager",
        ),
        "PodsRefused": (
            "the API server refuses the pods",
            "change what the message names: a quota, a policy, a Pod Security level, or a webhook",
        ),
    },
    "scheduling": {
        "QueueNotOpen": (
            "the queue of the PodGroup does not exist, or is not open",
            "create or open the queue; check that volcano-controllers runs, which opens queues",
        ),
        "SchedulerNotRunning": (
            "no scheduler has looked at the pods",
            "check that the scheduler that the message names runs",
        ),
    },
    "pods": {
        "ContainerNotStarted": (
            "a container is not started",
            "change what the message names: a volume, a Secret, a ConfigMap, or the network",
        ),
        "InitContainerRunning": (
            "an init container has not ended",
            "wait, e.g. while a model is downloaded; read its log with `kubectl logs POD -c CONTAINER`",
        ),
        "OutOfMemory": (
            "a container exceeded its memory limit",
            "raise resources.limits.memory, or load less: a smaller model, fewer workers, a smaller cache",
        ),
        "NotReady": (
            "a container runs and is not ready",
            "wait until the model is loaded; the log of the pod tells how far it is",
        ),
    },
}
"""By layer of `fusioninfer why`, the reasons that only it has: what each means, and the remedy."""
_LAYERS: Final = {"Scheduled": "scheduling", "RoutesReady": "routes", "Ready": "workload"}
"""By condition, where `fusioninfer why` reports its reasons."""
REASONS: Final = (
    *(
        Reason(reason, meaning, remedy, condition, status, next(iter(event), ""), _LAYERS.get(condition, ""))
        for condition, rows in _ROWS.items()
        for reason, (status, meaning, remedy, *event) in rows.items()
    ),
    *(Reason(reason, meaning, event=kind) for reason, (kind, meaning) in _IN_EVENTS.items()),
    *(
        Reason(reason, meaning, remedy, layer=layer)
        for layer, rows in _IN_WHY.items()
        for reason, (meaning, remedy) in rows.items()
    ),
)
"""All rows. `NotObserved` has one for each condition that has it."""
STATES: Final = {(row.condition, row.reason): row.status for row in REASONS if row.status}
EVENTS: Final = {row.reason: row for row in REASONS if row.event}
CAUSES: Final = {row.reason: row for row in REASONS if row.layer}
"""By reason; of `NotObserved`, which several conditions have, the row of `Ready`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The reason and the message of one condition, before it has a time."""

    reason: str
    message: str = ""
