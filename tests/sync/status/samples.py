"""A sample InferenceService of prefill and decode, and its observed objects."""

from dataclasses import replace
from typing import Any, Final

import pytest

from intent import Object
from intent.annotations import Routing
from intent.errors import FieldError
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent, Router
from sync.observed.condition import ObservedCondition
from sync.observed.lws import LeaderWorkerSet
from sync.observed.pod import AcceleratorCounts, Failure, ObservedPod
from sync.observed.pod_group import PodGroup
from sync.observed.routes import Deployment, Gateway, HTTPRoute, InferencePool, Listener, Parent, ParentStatus
from sync.status import status
from sync.status.observed import Observed, ObservedRoutes

Case = tuple[Observed, str]
"""What is observed, and a condition's status and reason, with `: ` and its message if that matters."""
NOW: Final = "2026-01-01T12:00:00Z"
LATER: Final = "2026-01-01T12:00:05Z"
GPUS: Final = (("nvidia.com/gpu", 8),)
PREFILL: Final = RoleIntent("prefill", "prefiller", {}, replicas=1, nodes=2)
DECODE: Final = RoleIntent("decode", "decoder", {}, replicas=2, nodes=4)
GATEWAY: Final = Parent("team-a", "gw")
RULE: Final = FieldError("spec.roles[1].template", None, "is required", "FI108")
CRASH: Final = Failure("vllm", "CrashLoopBackOff", "back-off 5m0s")


def service(*roles: RoleIntent, **fields: Any) -> InferenceServiceIntent:
    """Return the third generation of r1 with the roles prefill and decode."""
    return InferenceServiceIntent("team-a", "r1", roles=roles or (PREFILL, DECODE), generation=3, **fields)


def lws(role: str, **fields: Any) -> LeaderWorkerSet:
    """Return a LeaderWorkerSet with a current status."""
    return LeaderWorkerSet(f"r1-{role}", **({"generation": 1, "observed": 1} | fields))


def group(
    role: str, index: int, size: int, accelerators: AcceleratorCounts = GPUS, **fields: Any
) -> tuple[ObservedPod, ...]:
    """Return the pods of one group, on nodes and ready."""
    known: dict[str, Any] = {"scheduled": True, "ready": True, "accelerators": accelerators} | fields
    names = (f"r1-{role}-{index}-{number}" for number in range(size))
    return tuple(ObservedPod("team-a", name, lws=f"r1-{role}", group=str(index), **known) for name in names)


def waiting(role: str, index: int, size: int, **fields: Any) -> tuple[ObservedPod, ...]:
    """Return the pods of a group that cannot be scheduled."""
    return group(role, index, size, **({"scheduled": False, "ready": False} | fields))


def starting(role: str, index: int, size: int, **fields: Any) -> tuple[ObservedPod, ...]:
    """Return the pods of a group that are on nodes and not ready."""
    return group(role, index, size, **({"ready": False} | fields))


P0: Final = group("prefill", 0, 2)
D0: Final = group("decode", 0, 4)
D1: Final = group("decode", 1, 4)


def seen(*groups: tuple[ObservedPod, ...], **fields: Any) -> Observed:
    """Return r1 with these groups; without any, with all of them ready."""
    pods = tuple(pod for one in groups or (P0, D0, D1) for pod in one)
    known = Observed(
        service(),
        sets={"prefill": lws("prefill", replicas=1), "decode": lws("decode", replicas=2)},
        pods=pods,
        pod_group=PodGroup("default", "r1"),
    )
    return replace(known, **fields)


def said(status: str = "True", reason: str = "Accepted", message: str = "") -> ObservedCondition:
    """Return a gateway's answer."""
    return ObservedCondition("Accepted", status, reason, message)


def route(*answers: ParentStatus, **fields: Any) -> HTTPRoute:
    """Return an HTTPRoute with one gateway as its parent."""
    known: dict[str, Any] = {
        "parents": (GATEWAY,),
        "answers": answers or (ParentStatus(GATEWAY, said(), said()),),
    }
    return HTTPRoute("team-a", "r1-httproute", **(known | fields))


def gateway(**fields: Any) -> Gateway:
    """Return a Gateway that is programmed."""
    known: dict[str, Any] = {
        "listeners": (Listener("web", 80, "HTTP"),),
        "addresses": ("10.0.0.1",),
        "accepted": said(),
        "programmed": said(reason="Programmed"),
    }
    return Gateway("team-a", "gw", **(known | fields))


def deployment(**fields: Any) -> Deployment:
    """Return the Deployment of an endpoint picker."""
    return Deployment("team-a", "r1-epp", **fields)


def router(*, picked: bool = True, attached: bool = True, ingress: bool = False, pool: str = "") -> Router:
    """Return a router that wants these routes."""
    parents: Object = {"parentRefs": [{"name": "gw"}]} if attached else {}
    routing = Routing("queue-size" if picked else "", http_route=parents)
    return Router("router", routing, pool=pool, ingress={} if ingress else None)


ROUTER: Final = router()
ALONE: Final = router(picked=False, attached=False, ingress=True)
"""A router with an Ingress and nothing else."""


def routes(router: Router = ROUTER, **fields: Any) -> ObservedRoutes:
    """Return routes that work."""
    known: dict[str, Any] = {
        "picker": deployment(available=True, current=True, picker="llm-d-0.7"),
        "pool": InferencePool("team-a", "r1-pool", answers=(ParentStatus(GATEWAY, said(), said()),)),
        "http_route": route(),
        "gateways": (gateway(),),
    }
    return ObservedRoutes(router, **(known | fields))


def condition(kind: str, observed: Observed, before: Object | None = None, now: str = NOW) -> Object:
    """Return one condition of the status."""
    made = status(observed, before or {}, now)["conditions"]
    return next(one for one in made if one["type"] == kind)


def reason(kind: str, observed: Observed) -> tuple[str, str]:
    """Return status and reason of one condition."""
    found = condition(kind, observed)
    return found["status"], found["reason"]


def message(kind: str, observed: Observed) -> str:
    """Return the message of one condition."""
    return str(condition(kind, observed)["message"])


def judged(kind: str, observed: Observed, said: str) -> tuple[str, str]:
    """Return status and reason of one condition, and its message as far as `said` asks for it."""
    found = condition(kind, observed)
    return f"{found['status']} {found['reason']}", str(found["message"]) if said else ""


def each(**tables: dict[str, Case]) -> pytest.MarkDecorator:
    """Return a test's cases: tables by the condition that they are about."""
    rows = {
        f"{kind}: {name}": (kind, observed, *expected.partition(": ")[::2])
        for kind, table in tables.items()
        for name, (observed, expected) in table.items()
    }
    return pytest.mark.parametrize(("kind", "observed", "verdict", "said"), rows.values(), ids=rows)
