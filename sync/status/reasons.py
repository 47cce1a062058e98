"""The reasons of conditions: the status, the meaning and the remedy of each.

`docs/status.md` is generated from this table. A reason never changes its meaning, and has one status.
"""

from collections.abc import Mapping
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
_EARLIER: Final = "the observed objects are of an earlier generation"
_WAIT: Final = "wait a moment; if it persists, check that the controller that the message names is running"

_ROWS: Final[Mapping[str, Mapping[str, tuple[ConditionStatus, str, str]]]] = {
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
        "RouteMissing": ("False", "an object of the routes does not exist yet", _WAIT),
        "PoolMissing": (
            "False",
            "the InferencePool that the router refers to does not exist",
            "create it, or correct `pool.ref.name`",
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
        "ServiceReady": ("True", "requests are served", ""),
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
    "Progressing": {
        "Applying": ("True", "the objects of this generation are being applied", ""),
        "RollingUpdate": ("True", "replicas are being replaced, one by one", ""),
        "ReplicasNotReady": ("True", "replicas are starting, or wait for nodes", ""),
        "Held": ("False", "not all objects are applied, and an error must be repaired first", _READ_MESSAGE),
        "Complete": ("False", "everything is applied and ready", ""),
    },
    "Failed": {
        "InferenceServiceFailed": ("True", "a rule is broken, or an object is refused", _READ_MESSAGE),
        "PodsFailing": ("True", "a container keeps failing", _READ_MESSAGE),
        "NothingFailed": ("False", "no error is known", ""),
    },
}
"""By condition and reason: the status, what it means, and the remedy; empty if nothing needs to be done."""
REASONS: Final = tuple(
    Reason(condition, reason, *row) for condition, rows in _ROWS.items() for reason, row in rows.items()
)
STATES: Final = {(row.condition, row.reason): row.status for row in REASONS}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The reason and the message of one condition, before it has a time."""

    reason: str
    message: str = ""
