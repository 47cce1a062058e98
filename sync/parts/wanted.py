"""What the routes of a service are made of: the input of all that renders them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from catalog.pickers.generations import Picker
from intent import Object
from intent.annotations import Routing
from intent.inferenceservice.read import Router
from intent.lora import label_of
from intent.names import POOL_ENDING, picker_name
from intent.priority import number_of
from intent.service.member import Member
from intent.service.routes import is_split
from intent.settings import Settings
from sync.parts.desired import metadata
from sync.parts.endpoints import Endpoints
from sync.parts.strategies import preset_text


def config_name(service: str) -> str:
    """Return the name of the endpoint picker's ConfigMap."""
    return f"{picker_name(service)}-config"


def pool_name(service: str) -> str:
    """Return the name of the InferencePool."""
    return service + POOL_ENDING


def route_name(service: str) -> str:
    """Return the name of the HTTPRoute."""
    return f"{service}-httproute"


def gateway_name(service: str) -> str:
    """Return the name of the service's own Gateway."""
    return f"{service}-gateway"


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
        return self.router.pool or pool_name(self.name)

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
    def objectives(self) -> Iterator[tuple[str, int]]:
        """Name and priority of each InferenceObjective; clients send the name in a header."""
        of_adapters = ((objective_name(self.name, one), text) for one, text in self.adapters)
        for name, text in ((self.name, self.routing.priority), *of_adapters):
            if (priority := number_of(text)) is not None:
                yield name, priority

    def metadata(self, name: str) -> Object:
        """Return the metadata of one object of the routes."""
        return metadata((self.namespace, self.name), name, self.owners)
