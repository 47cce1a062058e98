"""The `fusioninfer.io/v1alpha1` InferenceService: roles of one service, each rendered into an annotated LWS.

Shapes: `docs/inferenceservice.md`. Reading never raises; what is wrong becomes a `FieldError`.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

from intent import Object
from intent.annotations import ComponentType

API_VERSION: Final = "fusioninfer.io/v1alpha1"
KIND: Final = "InferenceService"
RoleType = Literal["router", "worker", "prefiller", "decoder"]


@dataclass(frozen=True, slots=True)
class Role:
    """A role whose pods run an engine."""

    name: str
    component_type: ComponentType
    template: Object
    """A PodTemplateSpec, as its author wrote it."""
    replicas: int | None = None
    """None: nobody of ours sets it, so an autoscaler may."""
    nodes: int = 1
    index: int = 0
    """Where it stands in `spec.roles`."""


@dataclass(frozen=True, slots=True)
class Router:
    """The role that asks for routes."""

    name: str
    strategy: str = ""
    http_route: Object = field(default_factory=dict)
    """The spec of an HTTPRoute, as its author wrote it; empty: none is wanted."""
    gateway: Object = field(default_factory=dict)
    config: str = ""
    """An EndpointPickerConfig of the author's own, as text."""
    index: int = 0


@dataclass(frozen=True, slots=True)
class InferenceService:
    """One InferenceService, read."""

    namespace: str
    name: str
    roles: tuple[Role, ...] = ()
    router: Router | None = None
    scheduler: str = ""
    annotations: tuple[tuple[str, str], ...] = ()
    """Those that its LeaderWorkerSets get too, such as `fusioninfer.io/launcher` and Volcano's queue."""
    uid: str = ""
    generation: int = 0
    created: str = ""
    deleting: bool = False
