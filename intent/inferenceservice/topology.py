"""Rules of an InferenceService beyond its schema: combinations of roles, and the fields of each role."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from intent import Object, annotations
from intent.annotations import CARRIED, DISAGGREGATION, KEYS, OF_ROUTER, OF_SERVICE, SERVICE, SPLIT
from intent.errors import FieldError
from intent.gang import DISAGGREGATED, ENCODER
from intent.inferenceservice import picker
from intent.inferenceservice.v1alpha1 import (
    ALIASES,
    ENGINE_FIELDS,
    ROUTER_FIELDS,
    InferenceService,
    InferenceServiceSpec,
    LoraAdapter,
    Role,
)
from intent.names import (
    POOL_ENDING,
    is_key_of_data,
    is_subdomain,
    longest_name,
)
from intent.priority import ACCEPTED, as_text
from intent.shapes import mapping, number, text

PASSED: Final = tuple(row.key for row in KEYS.values() if row.service == CARRIED)
"""Annotations that an InferenceService may have; on the template of a role, for that role."""
ROUTERS: Final = tuple(row.key for row in KEYS.values() if row.service == OF_ROUTER)
"""Annotations that an InferenceService may have for its router."""
OF_THE_WHOLE: Final = tuple(row.key for row in KEYS.values() if row.service in {OF_ROUTER, OF_SERVICE})
"""Annotations that an InferenceService may have, and the template of a role may not."""
OF_ANY: Final = (*PASSED, *OF_THE_WHOLE)
"""Annotations that an InferenceService may have."""
ELSEWHERE: Final = {
    row.key: row.service for row in KEYS.values() if row.key not in PASSED and row.key not in OF_THE_WHOLE
}
"""The other annotations, each with the field of the InferenceService that replaces it."""

DECIDED_BY_POOL: Final = "the endpoint picker of the InferencePool in pool.ref decides it"
EXCLUDING: Final = (
    ("configRef", ("endpointPickerConfig", "strategy"), "configRef has the whole configuration"),
    ("pool", ("strategy", "endpointPickerConfig", "configRef", "template"), DECIDED_BY_POOL),
)
"""A field of a router, and those that it excludes, with the reason.

None excludes pd-disaggregation, by which decoders get a sidecar.
"""
DATA_KEY: Final = "a key of a ConfigMap: letters, digits, '-', '_' and '.'"
SUBDOMAIN: Final = "the name of an object: lower-case letters, digits, '-' and '.'"

Rule = Callable[[InferenceService], Iterator[FieldError]]
RoleRule = Callable[[str, Role, InferenceService], Iterator[FieldError]]
"""A rule of one role, with the path of the role."""


def findings(service: InferenceService) -> Iterator[FieldError]:
    """Report all violations of the rules by an InferenceService whose fields have the right types."""
    for rule in RULES:
        yield from rule(service)
    for index, role in enumerate(service.spec.roles):
        for of_role in OF_A_ROUTER if is_router(role) else OF_AN_ENGINE:
            yield from of_role(f"spec.roles[{index}]", role, service)


def is_router(role: Role) -> bool:
    """Return whether a role is the router."""
    return role.component_type == "router"


def has_router(spec: InferenceServiceSpec) -> bool:
    """Return whether the service has a router."""
    return any(map(is_router, spec.roles))


def disaggregates(spec: InferenceServiceSpec) -> bool:
    """Return whether prefill and decode are different roles."""
    return {"prefiller", "decoder"} <= {role.component_type for role in spec.roles}


def splits(spec: InferenceServiceSpec) -> bool:
    """Return whether a role is for prefill or decode, even if the other one is missing (FI703)."""
    return any(role.component_type in DISAGGREGATED for role in spec.roles)


# --- the service ----------------------------------------------------------------------------------------


def _topology(service: InferenceService) -> Iterator[FieldError]:
    """FI703: the roles are one worker, or prefillers and decoders; beside them is at most one router."""
    types = [role.component_type for role in service.spec.roles]
    engines = [kind for kind in types if kind not in {"router", ENCODER}]
    if engines != ["worker"] and ("worker" in engines or not disaggregates(service.spec)):
        form = "one worker, or at least one prefiller and one decoder; only encoders may stand beside"
        yield FieldError("spec.roles", ",".join(engines), f"must be {form}", "FI703")
    message = "at most one router is allowed: a service has one entry point"
    for index in [index for index, kind in enumerate(types) if kind == "router"][1:]:
        yield FieldError(f"spec.roles[{index}].componentType", "router", message, "FI703")


def _priorities(service: InferenceService) -> Iterator[FieldError]:
    """FI701, FI803: priorities are valid, and there is a router for them."""
    named: list[tuple[str, InferenceServiceSpec | LoraAdapter]] = [("spec", service.spec)]
    named += [(f"spec.lora.adapters[{index}]", part) for index, part in enumerate(service.spec.lora.adapters)]
    for path, part in (pair for pair in named if "priority" in pair[1].model_fields_set):
        if not as_text(part.priority):
            shown = None if isinstance(part.priority, dict | list) else part.priority
            yield FieldError(f"{path}.priority", shown, ACCEPTED, "FI701")
        elif not has_router(service.spec):
            message = "has no effect without a router: add one, or remove the priority"
            yield FieldError(f"{path}.priority", None, message, "FI803")


def _name(service: InferenceService) -> Iterator[FieldError]:
    """FI701: the name of the object is the name of the service."""
    name = service.metadata.get("name")
    if name is None:
        yield FieldError("metadata.name", None, "is required: it names the service", "FI701")
        return
    for error in annotations.read({SERVICE: name})[1]:
        yield replace(error, path="metadata.name", code="FI701")


def _annotations(service: InferenceService) -> Iterator[FieldError]:
    """FI10x, FI709, FI803: our annotations, on the service and on the templates of its roles."""
    yield from _checked("metadata", service.metadata, ELSEWHERE)
    yield from _without_router(service)
    for index, role in enumerate(service.spec.roles):
        whole = OF_ANY if is_router(role) else OF_THE_WHOLE
        path, metadata = f"spec.roles[{index}].template.metadata", mapping(role.template.get("metadata"))
        yield from _checked(path, metadata, ELSEWHERE | dict.fromkeys(whole, "metadata.annotations"))
        path, metadata = f"spec.roles[{index}].worker.metadata", mapping(role.worker.get("metadata"))
        yield from _checked(
            path,
            metadata,
            ELSEWHERE | dict.fromkeys(OF_ANY, f"spec.roles[{index}].template.metadata.annotations"),
        )


def _without_router(service: InferenceService) -> Iterator[FieldError]:
    """FI803: annotations for a router need a router."""
    message = "has no effect without a router: add one, or remove the annotation"
    written = mapping(service.metadata.get("annotations"))
    for key in () if has_router(service.spec) else (key for key in ROUTERS if key in written):
        yield FieldError(annotations.path(key), None, message, "FI803")


def _checked(path: str, metadata: Object, elsewhere: Mapping[str, str]) -> Iterator[FieldError]:
    written = mapping(metadata.get("annotations"))
    for key in (key for key in written if key in elsewhere):
        message = f"must be absent: use {elsewhere[key].format(role='', router='')} instead"
        yield FieldError(f"{path}.annotations[{key}]", None, message, "FI709")
    rest = {key: value for key, value in written.items() if key not in elsewhere}
    for error in annotations.read({SERVICE: "any"} | rest)[1]:
        value = error.value if isinstance(error.value, str) else None
        yield replace(error, path=path + error.path.removeprefix("metadata"), value=value)


RULES: Final[tuple[Rule, ...]] = (_name, _annotations, _topology, _priorities)


# --- a role ---------------------------------------------------------------------------------------------


def _fields(path: str, role: Role, _service: InferenceService) -> Iterator[FieldError]:
    """FI706: a router has no fields of engines, and an engine none of routers."""
    others = ENGINE_FIELDS if is_router(role) else ROUTER_FIELDS
    reason = "a router runs no engine" if is_router(role) else "only a router has it"
    for name in (name for name in role.given if name in others):
        yield FieldError(f"{path}.{name}", None, f"must be absent: {reason}", "FI706")


# --- a router -------------------------------------------------------------------------------------------


def _strategy(path: str, role: Role, service: InferenceService) -> Iterator[FieldError]:
    """FI801, FI802: the strategy suits the roles."""
    asked, split = role.strategy if "strategy" in role.given else "", disaggregates(service.spec)
    if asked == DISAGGREGATION and not split:
        message = f"must not be {DISAGGREGATION} without a prefiller and a decoder"
        yield FieldError(f"{path}.strategy", asked, message, "FI801")
    elif asked not in {"", DISAGGREGATION} and split and not role.endpoint_picker_config:
        yield FieldError(f"{path}.strategy", asked, SPLIT, "FI802")


def _one_configuration(path: str, role: Role, _service: InferenceService) -> Iterator[FieldError]:
    """FI732: a router has one configuration, or a pool with an endpoint picker of its own."""
    for key, others, reason in EXCLUDING:
        for name in (name for name in others if key in role.given and name in role.given):
            if (name, role.strategy) != ("strategy", DISAGGREGATION):
                yield FieldError(f"{path}.{name}", None, f"must be absent: {reason}", "FI732")


def _references(path: str, role: Role, service: InferenceService) -> Iterator[FieldError]:
    """FI734: a ConfigMap or InferencePool may exist, and is not the pool that the controller would delete."""
    config, pool = role.config_ref, role.pool.ref.name
    named = {"configRef": (f"{path}.configRef.name", config.name), "pool": (f"{path}.pool.ref.name", pool)}
    for where, name in (named[field] for field in named if field in role.given):
        if not is_subdomain(name):
            yield FieldError(where, name, f"must be {SUBDOMAIN}", "FI734")
    if "configRef" in role.given and not is_key_of_data(config.key):
        yield FieldError(f"{path}.configRef.key", config.key, f"must be {DATA_KEY}", "FI734")
    if "pool" in role.given and pool == text(service.metadata.get("name")) + POOL_ENDING:
        message = "must be another InferencePool: the controller makes the one of this name, and deletes it"
        yield FieldError(f"{path}.pool.ref.name", pool, message, "FI734")


def _picker_template(path: str, role: Role, _service: InferenceService) -> Iterator[FieldError]:
    """FI733: the template of a router changes only what nothing else depends on."""
    return picker.violations(role.template, f"{path}.template")


OF_A_ROUTER: Final[tuple[RoleRule, ...]] = (
    *(_fields, _strategy, _one_configuration, _references, _picker_template),
)


# --- an engine ------------------------------------------------------------------------------------------


def _template(path: str, role: Role, _service: InferenceService) -> Iterator[FieldError]:
    """FI701: an engine has a template."""
    if "template" not in role.given:
        yield FieldError(f"{path}.template", None, "is required: it defines the pods of the engine", "FI701")


def _names(path: str, role: Role, service: InferenceService) -> Iterator[FieldError]:
    """FI109: the LeaderWorkerSet's name fits its pods."""
    name = f"{text(service.metadata.get('name'))}-{role.name}"
    most = number(role.scaling.get("maxReplicas")) if role.is_scaled else role.asked or 1
    limit = longest_name(role.nodes, most)
    if len(name) > limit:
        message = f"must be {len(name) - limit} characters shorter, or metadata.name: {name} exceeds {limit}"
        yield FieldError(f"{path}.name", role.name, message, "FI109")


def _aliases(path: str, role: Role, _service: InferenceService) -> Iterator[FieldError]:
    """FI732, FI750: an earlier name of a field is accepted, unless both have different values."""
    values = {
        "roleReplicas": (role.role_replicas, role.asked),
        "podReplicas": (role.pod_replicas, role.nodes),
    }
    for alias in (name for name in role.given if name in ALIASES):
        where, (value, meant) = f"{path}.{alias}", values[alias]
        if value == meant:
            yield FieldError(where, None, f"is an earlier name; use {ALIASES[alias]}: {value}", "FI750")
        else:
            yield FieldError(where, value, f"must be absent: {ALIASES[alias]} has another value", "FI732")


def _scaling(path: str, role: Role, _service: InferenceService) -> Iterator[FieldError]:
    """FI732, FI755: either the author or an autoscaler counts replicas, and it can scale."""
    if not role.is_scaled:
        return
    message = "must be absent: scaling decides the number of replicas; remove one of the two"
    for name in (name for name in ("replicas", "roleReplicas") if name in role.given):
        yield FieldError(f"{path}.{name}", role.asked, message, "FI732")
    if not role.scaling.get("metrics"):
        message = "add metrics: the default is 80 % of the requested CPU"
        yield FieldError(f"{path}.scaling", None, message, "FI755")


def _workers(path: str, role: Role, _service: InferenceService) -> Iterator[FieldError]:
    """FI706: there are workers only in replicas of several nodes."""
    if "worker" in role.given and role.nodes < 2:
        message = "must be absent: a replica of one node has no workers; set multinode.nodeCount"
        yield FieldError(f"{path}.worker", None, message, "FI706")


OF_AN_ENGINE: Final[tuple[RoleRule, ...]] = (_fields, _template, _names, _aliases, _scaling, _workers)
