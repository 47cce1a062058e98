"""Reading of an InferenceService into an `InferenceServiceIntent` and field errors.

The schema is `intent.inferenceservice.v1alpha1`, documented in `docs/inferenceservice.md`. Reading never
raises, whatever the object contains.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from intent import Object
from intent.annotations import (
    DISAGGREGATION,
    LORA,
    MODEL,
    MODEL_CACHE,
    MODEL_NAME,
    MODEL_SECRET,
    NO_ROUTING,
    QUEUE_NAME,
    SERVICE,
    ComponentType,
    Routing,
)
from intent.annotations import read as read_annotations
from intent.errors import FieldError, Subject
from intent.inferenceservice import v1alpha1
from intent.inferenceservice.topology import PASSED, ROUTERS, findings, splits
from intent.lora import LIMITS
from intent.lora import written as written_lora
from intent.parallelism import written as written_sizes
from intent.priority import as_text
from intent.schema import MOST
from intent.shapes import mapping, number, text, without_nulls
from intent.sidecar import NO_OPTIONS, SidecarOptions, ordered

API_VERSION: Final = v1alpha1.API_VERSION
KIND: Final = v1alpha1.KIND
CARRIED: Final = (*PASSED, QUEUE_NAME)
"""Annotations that LeaderWorkerSets get from the InferenceService, or from the template of the role."""
MODELS: Final = (MODEL, MODEL_NAME, MODEL_SECRET, MODEL_CACHE)
ROUTER_KEYS: Final = frozenset({*v1alpha1.ROUTER_FIELDS, "template"})


@dataclass(frozen=True, slots=True)
class RoleIntent:
    """A role whose pods run an engine."""

    name: str
    component_type: ComponentType
    template: Object
    """A PodTemplateSpec, as written by its author."""
    replicas: int | None = None
    """None: the controller does not set it, so an autoscaler may."""
    nodes: int = 1
    index: int = 0
    """Its index in `spec.roles`."""
    scaling: Object | None = None
    """The spec of its autoscaler without the target; None: it has none."""
    rollout: Object = field(default_factory=dict)
    """The rollout strategy; empty: that of LeaderWorkerSet."""
    worker: Object | None = None
    """The PodTemplateSpec of the workers, as written by its author; None: that of the leader."""
    parallelism: str = ""
    """The annotation with its parallel sizes; empty: none."""
    accelerators: v1alpha1.AcceleratorTypes | None = None
    """The labels of nodes on which its pods may run, in addition to what the templates say; None: all."""
    sidecar: SidecarOptions = NO_OPTIONS
    """The options of a decoder's routing sidecar."""
    base_refs: tuple[str, ...] = ()
    """The names of its templates: those of the service, then its own."""
    has_own_refs: bool = False


@dataclass(frozen=True, slots=True)
class Router:
    """The router role."""

    name: str
    routing: Routing = NO_ROUTING
    """Its fields, and the annotations of the InferenceService that refine them."""
    gateway: Object = field(default_factory=dict)
    """The spec of a Gateway, as its author wrote it, without nulls; empty: none is created."""
    index: int = 0
    """Its index in `spec.roles`."""
    ingress: Object | None = None
    """The spec of an Ingress, as its author wrote it, without nulls; None: none is created."""
    template: Object = field(default_factory=dict)
    """Changes of the endpoint picker's pods, a PodTemplateSpec without nulls; empty: none."""
    config_ref: v1alpha1.ConfigRef | None = None
    """Where its EndpointPickerConfig is; None: in `routing`."""
    pool: str = ""
    """The name of an InferencePool of its author; empty: the controller makes one, and a picker."""
    base_refs: tuple[str, ...] = ()
    """The names of its templates: those of the service."""
    given: frozenset[str] = frozenset()
    """The fields that its author wrote."""
    default_strategy: str = ""
    """The strategy where nobody writes one."""

    @property
    def is_picked(self) -> bool:
        """Whether an InferencePool and an endpoint picker are made."""
        return not self.pool and (self.routing.wanted or self.config_ref is not None)

    @property
    def is_routed(self) -> bool:
        """Whether there is an InferencePool to which an HTTPRoute can lead."""
        return bool(self.pool) or self.is_picked

    @property
    def is_attached(self) -> bool:
        """Whether its HTTPRoute has a Gateway as a parent; without one no HTTPRoute is made."""
        return bool(self.routing.http_route.get("parentRefs") or self.gateway)


@dataclass(frozen=True, slots=True)
class InferenceServiceIntent:
    """One InferenceService, parsed."""

    namespace: str
    name: str
    roles: tuple[RoleIntent, ...] = ()
    router: Router | None = None
    scheduler: str = ""
    follows: bool = False
    """Whether a changed template is taken at once."""
    model: tuple[tuple[str, str], ...] = ()
    """The annotations that say which model its LeaderWorkerSets run, with which LoRA adapters."""
    adapters: tuple[tuple[str, str], ...] = ()
    """The adapters with a priority of their own, by name."""
    annotations: tuple[tuple[str, str], ...] = ()
    """The annotations that its LeaderWorkerSets get too (`CARRIED`)."""
    uid: str = ""
    generation: int = 0
    created: str = ""
    deleting: bool = False

    @property
    def subject(self) -> Subject:
        """The InferenceService as the subject of findings."""
        return Subject(API_VERSION, KIND, self.namespace, self.name, self.uid)

    @property
    def base_refs(self) -> tuple[str, ...]:
        """The names of the templates of all roles, each once."""
        router = self.router.base_refs if self.router else ()
        return tuple(dict.fromkeys((*(name for role in self.roles for name in role.base_refs), *router)))


ReadResult = tuple[InferenceServiceIntent | None, tuple[FieldError, ...]]


def read(obj: Any) -> ReadResult:
    """Read an InferenceService, with all errors that need no other object.

    Returns None if a field has the wrong type; otherwise it may still violate a rule, and the schema of the
    definition (`intent.schema`).
    """
    fields = {key: value for key, value in mapping(obj).items() if key != "status"}
    service, unreadable = _validated(fields)
    reported = {error.path for error in unreadable}
    rules = [error for error in (findings(service) if service else ()) if error.path not in reported]
    return _service(service) if service else None, (*unreadable, *rules)


def _validated(fields: Object) -> tuple[v1alpha1.InferenceService | None, tuple[FieldError, ...]]:
    """Check types, and return what cannot be read. With an unknown field, the rest is read anyway."""
    errors: tuple[FieldError, ...] = ()
    for extra in ("forbid", "ignore"):
        try:
            return v1alpha1.InferenceService.model_validate(fields, extra=extra), errors
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False)
            errors = errors or tuple(map(_unreadable, faults[:MOST]))
    return None, errors


def _unreadable(fault: ErrorDetails) -> FieldError:
    """Return a problem of a field in the words of findings (FI701, FI702)."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault["loc"])
    path = "".join(steps).removeprefix(".")
    if fault["type"] == "extra_forbidden":
        return FieldError(path, None, "unknown field", "FI702")
    if fault["type"] == "missing":
        return FieldError(path, None, "is required", "FI701")
    value = None if isinstance(fault["input"], dict | list) else fault["input"]
    message = re.sub(r"a valid dictionary.*", "a map", fault["msg"])
    return FieldError(path, value, re.sub(r"^[A-Z]\w* should", "must", message), "FI701")


def _service(service: v1alpha1.InferenceService) -> InferenceServiceIntent:
    metadata = service.metadata
    written = mapping(metadata.get("annotations"))
    return InferenceServiceIntent(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        roles=tuple(_roles(service.spec)),
        router=next(_routers(service.spec, _routing(written)), None),
        scheduler=service.spec.scheduling_strategy.scheduler_name,
        follows=service.spec.follow_templates,
        model=(*_model(service.spec.model), *_lora(service.spec.lora)),
        adapters=tuple(_prioritized(service.spec.lora)),
        annotations=tuple((key, text(written[key])) for key in CARRIED if key in written),
        uid=text(metadata.get("uid")),
        generation=number(metadata.get("generation")),
        created=text(metadata.get("creationTimestamp")),
        deleting=bool(metadata.get("deletionTimestamp")),
    )


def _roles(spec: v1alpha1.InferenceServiceSpec) -> Iterator[RoleIntent]:
    for index, role in enumerate(spec.roles):
        if role.component_type != "router":
            yield RoleIntent(
                role.name,
                role.component_type,
                role.template,
                replicas=None if role.is_scaled else role.asked,
                nodes=role.nodes,
                index=index,
                scaling=without_nulls(role.scaling) if role.is_scaled else None,
                rollout=without_nulls(role.rollout_strategy),
                worker=role.worker if "worker" in role.given else None,
                parallelism=written_sizes(role.parallelism.sizes) if "parallelism" in role.given else "",
                accelerators=role.accelerator_types if "acceleratorTypes" in role.given else None,
                sidecar=_sidecar(role.sidecar),
                base_refs=_base_refs(spec, role),
                has_own_refs=bool(role.base_refs),
            )


def _base_refs(spec: v1alpha1.InferenceServiceSpec, role: v1alpha1.Role) -> tuple[str, ...]:
    """Return the templates of a role. One that both lists name comes last, where the role has it."""
    shared = [name for name in spec.base_refs if name not in role.base_refs]
    return (*shared, *role.base_refs)


def _sidecar(sidecar: v1alpha1.Sidecar) -> SidecarOptions:
    return SidecarOptions(
        sidecar.connector,
        ordered(tuple(sidecar.tls)),
        ordered(tuple(sidecar.insecure_skip_verify)),
        sidecar.secret_name,
    )


def _model(source: v1alpha1.ModelSource) -> Iterator[tuple[str, str]]:
    """Yield the annotations in place of which the InferenceService has a field."""
    fields = (source.uri, source.name, source.secret_name, source.cache)
    yield from ((key, value) for key, value in zip(MODELS, fields, strict=True) if value)


def _lora(lora: v1alpha1.LoraAdapters) -> Iterator[tuple[str, str]]:
    """Yield the annotation with the adapters and their limits."""
    if lora.adapters:
        limits = {name: getattr(lora, field, 0) for name, field in LIMITS.items()}
        yield LORA, written_lora([(adapter.name, adapter.uri) for adapter in lora.adapters], limits)


def _prioritized(lora: v1alpha1.LoraAdapters) -> Iterator[tuple[str, str]]:
    """Yield the adapters with a priority of their own."""
    priorities = ((adapter.name, as_text(adapter.priority)) for adapter in lora.adapters)
    yield from ((name, priority) for name, priority in priorities if priority)


def _routing(written: Object) -> Routing:
    """Read the annotations for the router."""
    ours = {key: written[key] for key in ROUTERS if key in written}
    return read_annotations({SERVICE: "any"} | ours)[0].routing


def _routers(spec: v1alpha1.InferenceServiceSpec, annotated: Routing) -> Iterator[Router]:
    for index, role in enumerate(spec.roles):
        if role.component_type == "router":
            default = DISAGGREGATION if splits(spec) else role.strategy
            routing = replace(
                annotated,
                strategy=_strategy(role, default),
                config=role.endpoint_picker_config,
                priority=as_text(spec.priority),
                http_route=without_nulls(role.httproute),
            )
            ingress = without_nulls(role.ingress) if "ingress" in role.given else None
            yield Router(
                role.name,
                routing,
                without_nulls(role.gateway),
                index,
                ingress,
                template=without_nulls(role.template),
                config_ref=role.config_ref if "configRef" in role.given else None,
                pool=role.pool.ref.name if "pool" in role.given else "",
                base_refs=tuple(spec.base_refs),
                given=frozenset(role.given),
                default_strategy=default,
            )


def _strategy(role: v1alpha1.Role, default: str) -> str:
    """Return the author's strategy, or the default for the roles.

    Empty with a whole configuration, and for an Ingress alone: clients call the Service. With a configuration
    in a ConfigMap, or a pool of the author's, it only decides whether decoders get a sidecar.
    """
    keys = frozenset(role.given)
    if "strategy" in keys:
        return role.strategy
    if role.endpoint_picker_config or keys & ROUTER_KEYS == {"ingress"}:
        return ""
    return "" if keys & {"configRef", "pool"} and default != DISAGGREGATION else default
