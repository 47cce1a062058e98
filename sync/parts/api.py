"""Plans the Service `<service>-api`, and the Ingress to it: clients call the leaders without a Gateway.

It selects the pods that answer whole requests: leaders of the workers, else of the decoders, or all pods of
their groups (`sync.parts.endpoints`). A decoder
without a prefiller's help computes the prompt itself. Every problem of the Service is a warning, since the
engines run without it; but an error where an Ingress leads to it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from intent import Object
from intent.annotations import SERVICE, ComponentType, path
from intent.errors import FieldError, Finding, Subject
from intent.inferenceservice.read import InferenceServiceIntent
from intent.names import LABEL, api_name
from intent.service.allowed import forbidden_ingress
from intent.service.member import Member, ServiceKey
from intent.service.routes import is_split
from intent.service.rules import fitting_members, present
from intent.settings import Settings
from sync.kinds import INGRESS, SERVICE_KIND
from sync.observed.pod import ObservedPod
from sync.parts.endpoints import Endpoints, endpoints

SWITCHED_OFF: Final = "these Services off (apiServices)"
BOTH: Final = frozenset({SERVICE_KIND, INGRESS.kind})


def ingress_name(service: str) -> str:
    """Return the name of the Ingress."""
    return f"{service}-ingress"


@dataclass(frozen=True, slots=True)
class ApiService:
    """The Service that a service should have."""

    namespace: str
    service: str
    component_type: ComponentType
    """The component type of the pods that it selects."""
    endpoints: Endpoints
    """The pods that serve, and their ports: the routing sidecar's, or the engine's if there is no sidecar."""
    ingress: Object | None = None
    """The spec of the Ingress to it, as its author wrote it; None: none."""
    members: tuple[tuple[str, str], ...] = ()
    """Name and uid of the LeaderWorkerSets; they own it if there is no InferenceService."""
    owner: tuple[str, str] | None = None
    """Name and uid of the InferenceService."""


@dataclass(frozen=True, slots=True)
class ApiPlan:
    """The plan of one Service, and findings for its authors."""

    api: ApiService | None = None
    """None: there should be none."""
    kept: frozenset[str] = frozenset()
    """The kinds of which an existing object is left as it is: Service, Ingress."""
    findings: tuple[Finding, ...] = ()
    of_routes: tuple[Finding, ...] = ()
    """Findings about the Ingress."""


def desired_api(  # noqa: PLR0913 - the parts of a snapshot that the Service depends on
    key: ServiceKey,
    members: tuple[Member, ...],
    service: InferenceServiceIntent | None,
    settings: Settings,
    namesakes: tuple[Subject, ...] = (),
    *,
    pods: tuple[ObservedPod, ...] | None = (),
    is_made: bool = False,
) -> ApiPlan:
    """Plan both; `namesakes` are LeaderWorkerSets with the name of one of the service's Services.

    `is_made`: the controller made the Service earlier.
    """
    live = present(members)
    if not (live or service):
        return ApiPlan()
    if not settings.api_services:
        left = tuple(_switched_off(key[1], live, service)) if is_made else ()
        plan = _impossible("", f"the operator has switched {SWITCHED_OFF}", live, service)
        return replace(plan, kept=BOTH, findings=left)
    if problem := _name_problem(key[1], namesakes):
        return _impossible(*problem, live, service)
    fitting = fitting_members(live)
    serving = _serving(fitting)
    if not serving:
        return ApiPlan(kept=BOTH)
    if problem := _port_problem(key[1], serving):
        return ApiPlan(kept=BOTH, findings=tuple(_reported(*problem, live, service)))
    forbidden = tuple(_forbidden(service, settings)) if service else ()
    made = ApiService(
        *key,
        component_type=(kind := serving[0].component_type),
        endpoints=endpoints(serving, pods and tuple(pod for pod in pods if pod.component_type == kind)),
        ingress=None if forbidden else _ingress(service, settings),
        members=tuple(sorted((one.name, one.uid) for one in fitting)),
        owner=(service.name, service.uid) if service else None,
    )
    return ApiPlan(made, kept=frozenset({INGRESS.kind} if forbidden else ()), of_routes=forbidden)


def _ingress(service: InferenceServiceIntent | None, settings: Settings) -> Object | None:
    """Return the spec of the Ingress; without routes there are no Ingresses either."""
    return service.router.ingress if service and service.router and settings.routes else None


def _forbidden(service: InferenceServiceIntent, settings: Settings) -> Iterator[Finding]:
    """Report an Ingress that the operator does not allow (FI833)."""
    if service.router and settings.routes:
        yield from (Finding(service.subject, one) for one in forbidden_ingress(service.router, settings))


def _impossible(
    code: str, message: str, live: tuple[Member, ...], service: InferenceServiceIntent | None
) -> ApiPlan:
    """Return the plan where there can be no Service: an Ingress would lead nowhere (FI835)."""
    findings = tuple(_reported(code, message, live, service)) if code else ()
    if service is None or service.router is None or service.router.ingress is None:
        return ApiPlan(findings=findings)
    error = FieldError(
        f"spec.roles[{service.router.index}].ingress", None, f"leads nowhere: {message}", "FI835"
    )
    return ApiPlan(kept=frozenset({INGRESS.kind}), of_routes=(Finding(service.subject, error),))


def _serving(fitting: tuple[Member, ...]) -> tuple[Member, ...]:
    """Return the members whose leaders answer whole requests; those without replicas count if all are so."""
    wanted = "decoder" if is_split(fitting) else "worker"
    all_of_it = tuple(one for one in fitting if one.component_type == wanted)
    return tuple(one for one in all_of_it if one.replicas) or all_of_it


def _name_problem(service: str, namesakes: tuple[Subject, ...]) -> tuple[str, str] | None:
    """Return code and message if the Service cannot have its name (FI830, FI831)."""
    name = api_name(service)
    if len(name) > LABEL:
        message = f"Service {name} is not created: the name exceeds {LABEL} characters; use a shorter one"
        return "FI831", message
    if any(one.name == name for one in namesakes):
        return (
            "FI830",
            f"Service {name} is not created: LWS has a Service of that name for its LeaderWorkerSet",
        )
    return None


def _port_problem(service: str, serving: tuple[Member, ...]) -> tuple[str, str] | None:
    """Return code and message if the leaders serve on different ports (FI832)."""
    if len({one.port for one in serving}) < 2:
        return None
    ports = ", ".join(f"{one.name}: {one.port}" for one in serving)
    message = f"Service {api_name(service)} stays as it is: its leaders serve on different ports ({ports})"
    return "FI832", f"{message}; use the same --port"


def _switched_off(
    name: str, live: tuple[Member, ...], service: InferenceServiceIntent | None
) -> Iterator[Finding]:
    """FI834: a warning, since clients reach the Service while it fits the pods."""
    message = (
        f"Service {api_name(name)} is neither changed nor deleted: the operator has switched {SWITCHED_OFF}"
    )
    for one in _reported("FI834", message, live, service):
        yield replace(one, error=replace(one.error, softened=True))


def _reported(
    code: str, message: str, live: tuple[Member, ...], service: InferenceServiceIntent | None
) -> Iterator[Finding]:
    """Yield a problem on the InferenceService, else on every member."""
    if service:
        yield Finding(service.subject, FieldError("metadata.name", service.name, message, code))
        return
    for one in live:
        yield Finding(one.subject, FieldError(path(SERVICE), one.service, message, code))
