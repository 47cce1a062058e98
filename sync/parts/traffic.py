"""What the routes of a service are made of, and the objects that lead requests to its pods.

Sources: kubernetes-sigs/gateway-api-inference-extension `api/v1/inferencepool_types.go` as of v1.2 (no
`appProtocol`: only CRDs since v1.4 have it); kubernetes-sigs/gateway-api `apis/v1`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from catalog.pickers.generations import POOLS, Picker
from catalog.pickers.workload import GRPC_PORT
from intent import Object
from intent.annotations import SERVICE, Routing
from intent.inferenceservice.read import Router
from intent.lora import label_of
from intent.names import picker_name
from intent.priority import number_of
from intent.service.member import Member
from intent.service.routes import is_split
from intent.settings import Settings
from intent.shapes import listed, mapping
from sync.kinds import DESTINATION_RULE, GATEWAYS, HTTP_ROUTE, OBJECTIVE, POOL
from sync.parts.desired import manifest
from sync.parts.endpoints import Endpoints
from sync.parts.strategies import preset_text

EVERYTHING: Final[Object] = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}
NO_TIMEOUT: Final[Object] = {"request": "0s"}
"""A long generation exceeds the default timeout of gateways (Envoy: 15 seconds)."""


def objective_name(service: str, adapter: str) -> str:
    """Return the name of an adapter's InferenceObjective; that of the service has the service's name.

    No service has a dot in its name, so no service's InferenceObjective has this name.
    """
    return f"{service}.{label_of(adapter)}"


NO_ROUTER: Final = Router("")
"""In place of a router, where members ask for routes."""


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes that a service should have."""

    namespace: str
    name: str
    """The name of the service."""
    picker: Picker
    endpoints: Endpoints
    """The pods that the pool selects, and their ports."""
    routing: Routing
    """What its authors ask for."""
    settings: Settings
    members: tuple[Member, ...] = ()
    """Those that fit together."""
    router: Router = NO_ROUTER
    adapters: tuple[tuple[str, str], ...] = ()
    """Name and priority of each LoRA adapter that has one."""
    owners: tuple[Object, ...] = ()
    has_user: bool = False
    """Whether the pods keep the uid that earlier releases gave them: without it they would restart."""

    @property
    def pool(self) -> str:
        """The name of the InferencePool: the author's, or ours, which has an endpoint picker."""
        return self.router.pool or POOL.name(self.name)

    @property
    def is_split(self) -> bool:
        """Whether prefillers and decoders share the pool."""
        return is_split(self.members)

    @property
    def replicas(self) -> int:
        """The number of endpoint pickers; more than one elect a leader."""
        return self.routing.picker_replicas or self.settings.picker_replicas

    @property
    def config(self) -> str:
        """The EndpointPickerConfig as text: the author's, or that of the strategy."""
        if not self.routing.strategy:
            return self.routing.config
        has_adapters = any(one.has_adapters for one in self.members)
        return preset_text(self.picker.name, self.routing.strategy, adapters=has_adapters)

    @property
    def parents(self) -> Any:
        """The author's parents of the HTTPRoute, else the gateway; without one there is no HTTPRoute."""
        namespace, slash, name = self.routing.gateway.rpartition("/")
        of_gateway = [{"name": name, "namespace": namespace} if slash else {"name": name}] if name else []
        return self.routing.http_route.get("parentRefs") or of_gateway

    @property
    def objectives(self) -> Iterator[tuple[str, int]]:
        """Name and priority of each InferenceObjective; clients send the name in a header."""
        of_adapters = ((objective_name(self.name, one), text) for one, text in self.adapters)
        for name, text in ((self.name, self.routing.priority), *of_adapters):
            if (priority := number_of(text)) is not None:
                yield name, priority

    def object(self, kind: str, name: str, **content: Any) -> Object:
        """Return one object of the routes, with these fields beside its metadata."""
        return manifest(kind, (self.namespace, self.name), name, self.owners, **content)


# --- objects ----------------------------------------------------------------------------------------


def inference_pool(routes: Routes) -> Object:
    """Render the InferencePool: the pods that serve, and the endpoint picker that chooses among them."""
    spec = {
        "selector": {"matchLabels": {SERVICE: routes.name, **routes.endpoints.selector}},
        "targetPorts": [{"number": port} for port in routes.endpoints.ports],
        "endpointPickerRef": {
            "name": picker_name(routes.name),
            "port": {"number": GRPC_PORT},
            # While it is down any leader serves, but a prefiller must not.
            "failureMode": "FailClose" if routes.is_split else "FailOpen",
        },
    }
    return routes.object(POOL.kind, POOL.name(routes.name), spec=spec)


def objectives(routes: Routes) -> Iterator[Object]:
    """Render the InferenceObjectives, by which requests get a priority other than 0.

    Source: `apix/v1alpha2/inferenceobjective_types.go` of v1.5.0.
    """
    for name, priority in routes.objectives:
        spec = {"priority": priority, "poolRef": {"group": POOLS, "name": routes.pool}}
        yield routes.object(OBJECTIVE.kind, name, spec=spec)


def http_route(routes: Routes) -> Object:
    """Render the HTTPRoute: the author's own, with the pool as the backend of rules that name none."""
    authors, hostnames = routes.routing.http_route, list(routes.routing.hostnames)
    rules = authors.get("rules") or [EVERYTHING]
    spec = {
        **({"hostnames": hostnames} if hostnames else {}),
        **authors,
        "parentRefs": routes.parents,
        "rules": [_rule(rule, routes) for rule in rules] if isinstance(rules, list) else rules,
    }
    return routes.object(HTTP_ROUTE.kind, HTTP_ROUTE.name(routes.name), spec=spec)


def _rule(rule: Any, routes: Routes) -> Any:
    """Add the pool to a rule without backends; a rule that redirects needs none. A port would be ignored."""
    if not isinstance(rule, dict) or rule.get("backendRefs") or _redirects(rule):
        return rule
    backend = {"group": POOLS, "kind": POOL.kind, "name": routes.pool}
    return {"timeouts": NO_TIMEOUT, **rule, "backendRefs": [backend]}


def _redirects(rule: Object) -> bool:
    return any(mapping(one).get("type") == "RequestRedirect" for one in listed(rule.get("filters")))


def gateway(routes: Routes) -> Object:
    """Render the Gateway as its author wrote it."""
    return routes.object(GATEWAYS.kind, GATEWAYS.name(routes.name), spec=routes.router.gateway)


def destination_rule(routes: Routes) -> Object:
    """Render the DestinationRule: Istio calls a Service with TLS only if a rule says so.

    The endpoint picker creates its certificate when it starts, so the certificate is not verified. A host
    without dots is resolved in the rule's namespace, whatever the cluster's domain. The API is served since
    Istio 1.22, which is earlier than its support of InferencePools. Source:
    `config/charts/inferencepool/templates/istio.yaml` of kubernetes-sigs/gateway-api-inference-extension
    v1.5.0.
    """
    host = picker_name(routes.name)
    spec = {"host": host, "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}}}
    return routes.object(DESTINATION_RULE, host, spec=spec)
