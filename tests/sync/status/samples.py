"""An InferenceService of prefill and decode, and rows of what there is of it."""

from dataclasses import replace
from typing import Any, Final

from intent import Object
from intent.errors import FieldError
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent
from sync.observed.condition import ObservedCondition
from sync.observed.lws import LeaderWorkerSet
from sync.observed.pod import Amounts, Failure, ObservedPod
from sync.observed.pod_group import PodGroup
from sync.observed.routes import Deployment, Gateway, HTTPRoute, InferencePool, Listener, Parent, ParentStatus
from sync.status import Observed, ObservedRoutes, status

NOW: Final = "2026-01-01T12:00:00Z"
LATER: Final = "2026-01-01T12:00:05Z"
GPUS: Final = (("nvidia.com/gpu", 8),)
PREFILL: Final = RoleIntent("prefill", "prefiller", {}, replicas=1, nodes=2)
DECODE: Final = RoleIntent("decode", "decoder", {}, replicas=2, nodes=4)
GATEWAY: Final = Parent("team-a", "gw")
RULE: Final = FieldError("spec.roles[1].template", None, "is required", "FI108")
CRASH: Final = Failure("vllm", "CrashLoopBackOff", "back-off 5m0s")


def service(*roles: RoleIntent, **fields: Any) -> InferenceServiceIntent:
    """Make the third generation of r1; the roles are prefill and decode."""
    return InferenceServiceIntent("team-a", "r1", roles=roles or (PREFILL, DECODE), generation=3, **fields)


def lws(role: str, **fields: Any) -> LeaderWorkerSet:
    """Make a LeaderWorkerSet whose controller has seen it."""
    return LeaderWorkerSet(f"r1-{role}", **({"generation": 1, "observed": 1} | fields))


def group(
    role: str, index: int, size: int, accelerators: Amounts = GPUS, **fields: Any
) -> tuple[ObservedPod, ...]:
    """Make the pods of one group, on nodes and ready."""
    known: dict[str, Any] = {"scheduled": True, "ready": True, "accelerators": accelerators} | fields
    names = (f"r1-{role}-{index}-{number}" for number in range(size))
    return tuple(ObservedPod("team-a", name, "r1", f"r1-{role}", str(index), **known) for name in names)


def waiting(role: str, index: int, size: int, **fields: Any) -> tuple[ObservedPod, ...]:
    """Make the pods of a group for which there is no room."""
    return group(role, index, size, **({"scheduled": False, "ready": False} | fields))


def starting(role: str, index: int, size: int, **fields: Any) -> tuple[ObservedPod, ...]:
    """Make the pods of a group that are on nodes and not ready."""
    return group(role, index, size, **({"ready": False} | fields))


P0: Final = group("prefill", 0, 2)
D0: Final = group("decode", 0, 4)
D1: Final = group("decode", 1, 4)


def seen(*groups: tuple[ObservedPod, ...], **fields: Any) -> Observed:
    """Observe r1 with these groups; with none named, with all of them ready."""
    pods = tuple(pod for one in groups or (P0, D0, D1) for pod in one)
    known = Observed(
        service(),
        sets={"prefill": lws("prefill", replicas=1), "decode": lws("decode", replicas=2)},
        pods=pods,
        pod_group=PodGroup("default", "r1"),
    )
    return replace(known, **fields)


def said(status: str = "True", reason: str = "Accepted", message: str = "") -> ObservedCondition:
    """Make what a gateway says."""
    return ObservedCondition("Accepted", status, reason, message)


def route(*answers: ParentStatus, **fields: Any) -> HTTPRoute:
    """Make an HTTPRoute that asks for one gateway."""
    known: dict[str, Any] = {
        "parents": (GATEWAY,),
        "answers": answers or (ParentStatus(GATEWAY, said(), said()),),
    }
    return HTTPRoute("r1-httproute", **(known | fields))


def gateway(**fields: Any) -> Gateway:
    """Make a Gateway that is programmed."""
    known: dict[str, Any] = {
        "listeners": (Listener("web", 80, "HTTP"),),
        "addresses": ("10.0.0.1",),
        "accepted": said(),
        "programmed": said(reason="Programmed"),
    }
    return Gateway("team-a", "gw", **(known | fields))


def routes(**fields: Any) -> ObservedRoutes:
    """Make routes that work."""
    known: dict[str, Any] = {
        "picker": Deployment(available=True, current=True, picker="llm-d-0.7"),
        "pool": InferencePool("r1-pool", (ParentStatus(GATEWAY, said(), said()),)),
        "http_route": route(),
        "gateways": (gateway(),),
    }
    return ObservedRoutes(**(known | fields))


def condition(kind: str, observed: Observed, before: Object | None = None, now: str = NOW) -> Object:
    """Give one condition of the status."""
    made = status(observed, before or {}, now)["conditions"]
    return next(one for one in made if one["type"] == kind)


def reason(kind: str, observed: Observed) -> tuple[str, str]:
    """Give status and reason of one condition."""
    found = condition(kind, observed)
    return found["status"], found["reason"]


def message(kind: str, observed: Observed) -> str:
    """Give the message of one condition."""
    return str(condition(kind, observed)["message"])
