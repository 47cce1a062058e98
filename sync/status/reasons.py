"""The reasons of conditions: the status, the meaning and the remedy of each.

`docs/status.md` is generated from this table. A reason never changes its meaning, and has one status.
"""

from dataclasses import dataclass
from typing import Final, Literal

State = Literal["True", "False", "Unknown"]

CONDITIONS: Final = {
    "Initialized": "this generation could be read, and every role has its LeaderWorkerSet",
    "Scheduled": "of every role at least one whole replica is on nodes",
    "RoutesReady": "gateways that are programmed take the routes, and the endpoint picker runs",
    "Ready": "requests are served: `Initialized`, `Scheduled` and `RoutesReady`, "
    "and of every role at least one whole replica is ready",
    "Active": "the service is complete: every replica of every role is ready",
    "Progressing": "somebody is at work: objects are being stored, pods start, or a rolling update goes on",
    "Failed": "something is wrong that time alone does not mend",
}
"""Conditions in their order, and what `True` means."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One row."""

    condition: str
    reason: str
    status: State
    meaning: str
    remedy: str = ""
    """Empty if nothing needs to be done."""


_READ_MESSAGE: Final = "the message names the cause and its remedy"
_WAIT: Final = "wait a moment; if it stays, look whether the controller that it names is running"

REASONS: Final = (
    # InferenceService… are reasons of FusionInfer's Go controller (`pkg/controller/condition.go`).
    Reason("Initialized", "InferenceServiceCreating", "True", "every role has its LeaderWorkerSet"),
    Reason("Initialized", "CannotBeRead", "False", "what is written cannot be read", _READ_MESSAGE),
    Reason(
        "Initialized",
        "LeaderWorkerSetMissing",
        "False",
        "a role has no LeaderWorkerSet yet",
        "if it stays, look at `Failed` and at the Events of the InferenceService",
    ),
    Reason("Scheduled", "AllScheduled", "True", "every replica is on nodes"),
    Reason(
        "Scheduled",
        "PartlyScheduled",
        "True",
        "every role has a replica on nodes, not all have theirs",
        "to serve more, add what the message names; nothing else is wrong",
    ),
    Reason(
        "Scheduled",
        "WaitingForRole",
        "False",
        "the gang starts when all of its roles exist",
        "add the role that is missing",
    ),
    Reason(
        "Scheduled",
        "WaitingForPodGroup",
        "False",
        "pods wait for their PodGroup",
        "look at the Events of the LeaderWorkerSets, and whether `fusioninfer sync` is running",
    ),
    Reason(
        "Scheduled",
        "WaitingForResources",
        "False",
        "no node has room for a whole replica of a role",
        "add nodes with what the message names, or free them; look at the queue (`kubectl get queue`)",
    ),
    Reason(
        "Scheduled",
        "PodsMissing",
        "False",
        "a replica has not all of its pods yet",
        "if it stays, look at the Events of the StatefulSets: a quota or a webhook may refuse pods",
    ),
    Reason("Scheduled", "NotObserved", "Unknown", "what was seen is of an earlier generation", _WAIT),
    Reason(
        "RoutesReady",
        "RoutesAccepted",
        "True",
        "gateways that are programmed take the routes, and the endpoint picker runs",
    ),
    Reason("RoutesReady", "NoRoutesWanted", "True", "no role routes, so there is nothing to wait for"),
    Reason(
        "RoutesReady",
        "NoHTTPRouteWanted",
        "True",
        "pool and endpoint picker are there; no HTTPRoute is asked for",
        "refer to the InferencePool from an HTTPRoute of your own",
    ),
    Reason("RoutesReady", "RoutesRefused", "False", "the routes cannot be made", _READ_MESSAGE),
    Reason("RoutesReady", "RouteMissing", "False", "a part of the routes is not there yet", _WAIT),
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
        "switch the inference extension of the gateway on, or use a gateway that has it",
    ),
    Reason(
        "RoutesReady",
        "RefsNotResolved",
        "False",
        "a gateway cannot follow a reference of the HTTPRoute or of the InferencePool",
        "allow or correct the reference that the message names",
    ),
    Reason(
        "RoutesReady",
        "PoolNotAccepted",
        "False",
        "a gateway refuses the InferencePool",
        "do what the message says",
    ),
    Reason(
        "RoutesReady",
        "GatewayNotProgrammed",
        "False",
        "a Gateway of the HTTPRoute is not set up, so it passes no requests on",
        "do what the message says; it is what the controller of the Gateway says in its status",
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
        "look whether the Gateway exists, and whether its controller is running",
    ),
    Reason("RoutesReady", "NotObserved", "Unknown", "what was seen is of an earlier generation", _WAIT),
    Reason("Ready", "ServiceReady", "True", "requests are served"),
    Reason("Ready", "NotInitialized", "False", "`Initialized` is False", "look there"),
    Reason("Ready", "NotScheduled", "False", "`Scheduled` is False", "look there"),
    Reason("Ready", "ScaledToZero", "False", "a role should have no replicas", "scale it up"),
    Reason(
        "Ready",
        "RoleNotReady",
        "False",
        "no replica of a role is ready",
        "wait until the model is loaded; `Failed` says whether a container keeps failing",
    ),
    Reason("Ready", "RoutesNotReady", "False", "`RoutesReady` is False", "look there"),
    Reason("Ready", "NotObserved", "Unknown", "what was seen is of an earlier generation", _WAIT),
    Reason("Active", "InferenceServiceAvailable", "True", "every replica of every role is ready"),
    Reason(
        "Active",
        "InferenceServiceProcessing",
        "False",
        "some replicas are not ready",
        "look at `status.components`, then at `Scheduled` and `Failed`",
    ),
    Reason("Active", "NotObserved", "Unknown", "what was seen is of an earlier generation", _WAIT),
    Reason("Progressing", "Applying", "True", "what this generation asks for is being stored"),
    Reason("Progressing", "RollingUpdate", "True", "replicas are replaced, one by one"),
    Reason("Progressing", "ReplicasNotReady", "True", "replicas start, or wait for nodes"),
    Reason(
        "Progressing",
        "Held",
        "False",
        "not all is stored, and an error is to be repaired first",
        _READ_MESSAGE,
    ),
    Reason("Progressing", "Complete", "False", "all is as it should be"),
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
