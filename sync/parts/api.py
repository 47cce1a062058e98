"""The Service `<service>-api`, and the Ingress to it: clients call the leaders without a Gateway.

It selects the pods that answer whole requests: leaders of the workers, else of the decoders, or all pods of
their groups (`sync.parts.endpoints`). A decoder without a prefiller's help computes the prompt itself. Every
problem of the Service is a warning, since the engines run without it; but an error where an Ingress leads to
it.
"""

from collections.abc import Iterator
from typing import Any, Final

from intent import Object
from intent.annotations import COMPONENT_TYPE, SERVICE, path
from intent.errors import FieldError, Finding
from intent.names import api_name
from intent.service.allowed import not_allowed
from intent.service.member import Member
from intent.service.routes import is_split
from intent.settings import Settings
from intent.shapes import listed, mapping
from sync.kinds import INGRESS, SERVICE_KIND
from sync.parts.desired import Desired, combined, manifest, owners
from sync.parts.endpoints import Endpoints, endpoints
from sync.snapshot import Snapshot

PORT: Final = 80
"""The port of the Service: `curl http://<service>-api/v1/models` needs none. Further ranks have the next."""
PORT_NAME: Final = "http"
INGRESSES: Final = frozenset({INGRESS.kind})


def api(snapshot: Snapshot, settings: Settings) -> Desired:
    """Desire the Service on the leaders, and the Ingress to it; without a readable author nothing changes."""
    name, serving = snapshot.situation.key[1], _serving(snapshot.fitting)
    if snapshot.has_no_author or not (snapshot.live or snapshot.service):
        return _unchanged(name) if snapshot.has_no_author else Desired()
    if not settings.api_services:
        off = _impossible(snapshot, "the operator has switched these Services off (apiServices)")
        return combined((off, _unchanged(name)))
    if api_name(name) in {one.name for one in snapshot.namesakes}:
        problem = (
            f"Service {api_name(name)} is not created: LWS has a Service of that name for its LeaderWorkerSet"
        )
        return _impossible(snapshot, problem, "FI830")
    if len({one.port for one in serving}) > 1:
        return combined((_unlike_ports(snapshot, serving), _unchanged(name)))
    return (
        combined((_service(snapshot, serving), _ingress(snapshot, settings))) if serving else _unchanged(name)
    )


def _unchanged(name: str) -> Desired:
    return Desired(held=INGRESSES, held_objects=frozenset({(SERVICE_KIND, api_name(name))}))


def _unlike_ports(snapshot: Snapshot, serving: tuple[Member, ...]) -> Desired:
    """Report that the leaders serve on different ports (FI832)."""
    ports = ", ".join(f"{one.name}: {one.port}" for one in serving)
    problem = f"stays as it is: its leaders serve on different ports ({ports}); use the same --port"
    message = f"Service {api_name(snapshot.situation.key[1])} {problem}"
    return Desired(findings=_findings(snapshot, message, "FI832"))


def _service(snapshot: Snapshot, serving: tuple[Member, ...]) -> Desired:
    """Render the Service; every expansion ever made has these labels in both templates."""
    key, kind, pods = snapshot.situation.key, serving[0].component_type, snapshot.pods
    selected = endpoints(serving, pods and tuple(pod for pod in pods if pod.component_type == kind))
    spec = {
        "selector": {SERVICE: key[1], COMPONENT_TYPE: kind, **selected.selector},
        "ports": list(_ports(selected)),
    }
    owned_by = owners(snapshot.value, snapshot.fitting)
    return Desired((manifest(SERVICE_KIND, key, api_name(key[1]), owned_by, spec=spec),))


def _ingress(snapshot: Snapshot, settings: Settings) -> Desired:
    """Render the Ingress; without routes there is none. One that is not allowed stays as it is (FI833)."""
    service, key = snapshot.value, snapshot.situation.key
    router = service.router if service and settings.routes else None
    if service is None or router is None or router.ingress is None:
        return Desired()
    if found := tuple(Finding(service.subject, one) for one in not_allowed(router, settings, {"ingress"})):
        return Desired(held=INGRESSES, of_routes=found)
    spec = _with_backend(router.ingress, api_name(key[1]))
    return Desired((manifest(INGRESS.kind, key, INGRESS.name(key[1]), owners(service, ()), spec=spec),))


def _ports(selected: Endpoints) -> Iterator[Object]:
    for at, port in enumerate(selected.ports):
        name = f"{PORT_NAME}-{at}" if at else PORT_NAME
        yield {"name": name, "port": PORT + at, "targetPort": port, "protocol": "TCP"}


def _with_backend(spec: Object, name: str) -> Object:
    """Return the author's spec of an Ingress, with the Service where no backend is named."""
    backend = {"service": {"name": name, "port": {"name": PORT_NAME}}}
    rules = [_rule(rule, backend) for rule in listed(spec.get("rules"))]
    return {**spec, "rules": rules} if rules else {"defaultBackend": backend, **spec}


def _rule(rule: Any, backend: Object) -> Any:
    """Add the backend to paths without one; a rule without paths gets one for all of its host."""
    if not isinstance(rule, dict):
        return rule
    paths = listed(mapping(rule.get("http")).get("paths")) or [{"path": "/", "pathType": "Prefix"}]
    filled = [{"backend": backend, **path} if isinstance(path, dict) else path for path in paths]
    return {**rule, "http": {"paths": filled}}


def _impossible(snapshot: Snapshot, message: str, code: str = "") -> Desired:
    """Report that there can be no Service: an Ingress would lead nowhere (FI835)."""
    router = snapshot.value.router if snapshot.value else None
    if snapshot.value is None or router is None or router.ingress is None:
        return Desired(findings=_findings(snapshot, message, code) if code else ())
    error = FieldError(f"spec.roles[{router.index}].ingress", None, f"leads nowhere: {message}", "FI835")
    return Desired(held=INGRESSES, of_routes=(Finding(snapshot.value.subject, error),))


def _serving(fitting: tuple[Member, ...]) -> tuple[Member, ...]:
    """Return the members whose leaders answer whole requests; those without replicas count if all are so."""
    wanted = "decoder" if is_split(fitting) else "worker"
    all_of_it = tuple(one for one in fitting if one.component_type == wanted)
    return tuple(one for one in all_of_it if one.replicas) or all_of_it


def _findings(snapshot: Snapshot, message: str, code: str) -> tuple[Finding, ...]:
    """Return a problem on the InferenceService, else on every member."""
    name = snapshot.situation.key[1]
    error = FieldError("metadata.name" if snapshot.service else path(SERVICE), name, message, code)
    return tuple(Finding(subject, error) for subject in snapshot.subjects)
