"""Every annotation of ours, in one table. The documentation is made from it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from catalog.pickers.generations import PICKERS
from intent import Object
from intent.errors import FieldError
from intent.nearest import each_nearest, nearest, suggested
from intent.routing import DISAGGREGATION, NO_ROUTING, STRATEGIES, Routing

ComponentType = Literal["worker", "prefiller", "decoder"]

PREFIX: Final = "fusioninfer.io/"
SERVICE: Final = PREFIX + "service"
COMPONENT_TYPE: Final = PREFIX + "component-type"
ROLE_NAME: Final = PREFIX + "role-name"
ROLES: Final = PREFIX + "roles"
SCHEDULER_NAME: Final = PREFIX + "scheduler-name"
LAUNCHER: Final = PREFIX + "launcher"
ENGINE_CONTAINER: Final = PREFIX + "engine-container"
INJECT: Final = PREFIX + "inject"
REFRESH: Final = PREFIX + "refresh"
PAUSED: Final = PREFIX + "paused"
SKIP: Final = PREFIX + "skip"
STRATEGY: Final = PREFIX + "strategy"
GATEWAY: Final = PREFIX + "gateway"
HOSTNAMES: Final = PREFIX + "hostnames"
ENDPOINT_PICKER_CONFIG: Final = PREFIX + "endpoint-picker-config"
PICKER: Final = PREFIX + "picker"
PICKER_REPLICAS: Final = PREFIX + "picker-replicas"
EXPANSION: Final = PREFIX + "expansion"
UNANSWERED: Final = "admission did not answer"
"""Value of the label `SERVICE` in each write of a rendered LeaderWorkerSet; no valid label value, on purpose.

Our mutating webhook sets the label to the service's name. Without it the API server refuses the write
(ADR 13).
"""
LABEL_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?").fullmatch
"""A label value that the API server takes (`k8s.io/apimachinery` `pkg/util/validation`)."""

GROUP_NAME: Final = "scheduling.k8s.io/group-name"
"""Volcano: the PodGroup of a pod (`volcano.sh/apis` `pkg/apis/scheduling/v1beta1`)."""
TASK_SPEC: Final = "volcano.sh/task-spec"
"""Volcano: the task of a pod in its PodGroup (`volcano.sh/apis` `pkg/apis/batch/v1alpha1`)."""
QUEUE_NAME: Final = "scheduling.volcano.sh/queue-name"
"""Volcano: the queue, as written on the LeaderWorkerSet."""
KUEUE_QUEUE: Final = "kueue.x-k8s.io/queue-name"
EXCLUSIVE_TOPOLOGY: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
LWS_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"
LLM_D_ROLE: Final = "llm-d.ai/role"

PARTS: Final = ("env", "shm", "probes", "startup-probe", "dns", "port", "sidecar")
"""What comes with a launch and may be left out; each is a concern of `webhook.mutate`."""
COMPONENT_TYPES: Final[tuple[ComponentType, ...]] = ("worker", "prefiller", "decoder")
DEFAULT_ROLE: Final[dict[ComponentType, str]] = {
    "worker": "worker",
    "prefiller": "prefill",
    "decoder": "decode",
}
LLM_D_ROLES: Final[dict[ComponentType, str]] = {"worker": "both", "prefiller": "prefill", "decoder": "decode"}


@dataclass(frozen=True, slots=True)
class Key:
    """One row: a key without the prefix, what its value may be, and what stands if it is absent."""

    name: str
    value: str
    default: str


KEYS: Final = (
    Key("service", "name of the service, a DNS-1035 label. **Its presence opts in.**", "-"),
    Key("component-type", "`worker`, `prefiller` or `decoder`", "`worker`"),
    Key("role-name", "unique in the service", "`worker`, `prefill`, `decode` by component type"),
    Key(
        "roles",
        "names of the roles that must exist before anything may start",
        "≥ 1 prefiller and ≥ 1 decoder",
    ),
    Key(
        "scheduler-name",
        "scheduler of the gang; `default-scheduler`: no gang",
        "`volcano` if a gang is needed",
    ),
    Key(
        "launcher",
        "a launcher of `docs/launchers.md`, `auto` (by image and flags), or `none`",
        "`auto`",
    ),
    Key("engine-container", "name of the container to wrap", "found by accelerator, engine, or being alone"),
    Key("skip", "parts not to add, separated by commas: " + ", ".join(f"`{part}`" for part in PARTS), "-"),
    Key(
        "strategy",
        f"how requests are routed: {', '.join(f'`{one}`' for one in STRATEGIES)}. "
        f"`{DISAGGREGATION}` must stand on every decoder",
        "no routes",
    ),
    Key(
        "gateway", "`name` or `namespace/name` of the Gateway that the HTTPRoute attaches to", "no HTTPRoute"
    ),
    Key("hostnames", "hostnames of the HTTPRoute, separated by commas", "all of the Gateway's"),
    Key(
        "endpoint-picker-config",
        "an EndpointPickerConfig of your own, as YAML, in place of the strategy's",
        "-",
    ),
    Key("picker", "the generation of the endpoint picker, a row of `docs/routing.md`", "the operator's"),
    Key("picker-replicas", "how many endpoint pickers run, of which one works: 1 to 9", "the operator's"),
    Key("inject", "`disabled`: break glass, leave the object alone", "-"),
    Key("refresh", "any text; a new one runs the current rules again", "-"),
    Key(
        "paused",
        "`true`: the controller writes nothing for the service, also where one member of it has this",
        "`false`",
    ),
    Key("expansion", "ours: the record of what was put on", "-"),
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """The annotations of one object, read. Empty where its author wrote nothing."""

    service: str = ""
    component_type: ComponentType = "worker"
    role_name: str = ""
    roles: tuple[str, ...] = ()
    scheduler_name: str = ""
    launcher: str = ""
    engine_container: str = ""
    refresh: str = ""
    skip: tuple[str, ...] = ()
    strategy: str = ""
    gateway: str = ""
    hostnames: tuple[str, ...] = ()
    endpoint_picker_config: str = ""
    picker: str = ""
    picker_replicas: int = 0

    @property
    def routing(self) -> Routing:
        """What they say about routes."""
        said = (self.strategy, self.endpoint_picker_config, self.gateway, self.hostnames)
        if not (any(said) or self.picker or self.picker_replicas):
            return NO_ROUTING
        return Routing(*said, picker=self.picker, picker_replicas=self.picker_replicas)

    @property
    def wants_sidecar(self) -> bool:
        """Whether its prompts are prefilled elsewhere, and a sidecar of ours is to see to that."""
        is_decoder = self.component_type == "decoder"
        return is_decoder and self.strategy == DISAGGREGATION and "sidecar" not in self.skip


def is_ours(annotations: Any) -> bool:
    """Whether any key is under our prefix."""
    return isinstance(annotations, dict) and any(key.startswith(PREFIX) for key in annotations)


def is_paused(annotations: Any) -> bool:
    """Whether the controller is to write nothing for the service of an object with these annotations."""
    return isinstance(annotations, dict) and annotations.get(PAUSED) == "true"


def read(annotations: Object) -> tuple[Wishes, list[FieldError]]:
    """Read the annotations of a LeaderWorkerSet. What is wrong is left at its default, and said."""
    errors: list[FieldError] = []
    mine = {key[len(PREFIX) :]: value for key, value in annotations.items() if key.startswith(PREFIX)}
    unknown = [key for key in mine if key not in _RULES]
    meant = dict(zip(unknown, each_nearest((key, _RULES) for key in unknown), strict=True))
    for key, value in mine.items():
        errors.extend(_wrong(key, value, meant.get(key, "")))
    if mine and "service" not in mine and mine.keys() != {"expansion"}:
        errors.append(FieldError("metadata.annotations", None, f"{SERVICE} is missing", "FI103"))
    wrong = {error.path for error in errors}
    good = {key: value for key, value in mine.items() if path(PREFIX + key) not in wrong} if wrong else mine
    return _wishes(good), errors


def path(key: str) -> str:
    """Give the field path of an annotation."""
    return f"metadata.annotations[{key}]"


def _wishes(good: Object) -> Wishes:
    component_type: ComponentType = good.get("component-type") or "worker"
    return Wishes(
        service=good.get("service", ""),
        component_type=component_type,
        role_name=good.get("role-name") or DEFAULT_ROLE[component_type],
        roles=names(good.get("roles", "")),
        scheduler_name=good.get("scheduler-name", ""),
        launcher=good.get("launcher", ""),
        engine_container=good.get("engine-container", ""),
        refresh=good.get("refresh", ""),
        skip=names(good.get("skip", "")),
        strategy=good.get("strategy", ""),
        gateway=good.get("gateway", ""),
        hostnames=names(good.get("hostnames", "")),
        endpoint_picker_config=good.get("endpoint-picker-config", ""),
        picker=good.get("picker", ""),
        picker_replicas=int(good.get("picker-replicas", 0)),
    )


def names(text: str) -> tuple[str, ...]:
    """Split a list of names, sorted: their order means nothing."""
    return tuple(sorted(name.strip() for name in text.split(",") if name.strip())) if text else ()


def _wrong(key: str, value: Any, meant: str) -> Iterator[FieldError]:
    at = path(PREFIX + key)
    if key not in _RULES:
        hint = f"did you mean {PREFIX}{meant}?" if meant else f"known are {', '.join(_RULES)}"
        yield FieldError(at, None, f"unknown annotation; {hint}", "FI102")
    elif not isinstance(value, str):
        yield FieldError(at, value, "must be a string", "FI108")
    else:
        rule = _RULES[key]
        if rule is not None and not rule.accepts(value):
            yield FieldError(at, value, rule.message + suggested(nearest(value, rule.values)), rule.code)
        elif key == "skip":
            yield from _unknown_parts(value)


def _unknown_parts(text: str) -> Iterator[FieldError]:
    """Say which parts are not known, and what was probably meant."""
    unknown = [part for part in names(text) if part not in PARTS]
    for part, meant in zip(unknown, each_nearest((part, PARTS) for part in unknown), strict=True):
        hint = f"did you mean {meant}?" if meant else f"parts are {', '.join(PARTS)}"
        yield FieldError(path(SKIP), text, f"{part} is not a part; {hint}", "FI104")


@dataclass(frozen=True, slots=True)
class _Rule:
    accepts: Callable[[str], object]
    message: str
    code: str
    values: tuple[str, ...] = ()
    """All that are accepted, if they can be counted."""


def _one_of(*values: str) -> _Rule:
    return _Rule(values.__contains__, f"must be one of {', '.join(values)}", "FI104", values)


_LABEL: Final = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_HOSTNAME: Final = re.compile(rf"(\*\.)?{_SUBDOMAIN}").fullmatch
_DNS_1035: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?").fullmatch
_DNS_1123: Final = re.compile(_LABEL).fullmatch


_LONGEST: Final = 4096
"""Characters of a list of names: an HTTPRoute takes 16 hostnames of 253."""
_LIST: Final = f"separated by commas, each once, at most {_LONGEST} characters"


def _each_once(text: str, accepts: Callable[[str], object]) -> bool:
    if len(text) > _LONGEST:
        return False
    found = [name.strip() for name in text.split(",")]
    return len(set(found)) == len(found) and all(accepts(name) for name in found)


def _are_names(text: str) -> bool:
    return _each_once(text, _DNS_1123)


def _are_hostnames(text: str) -> bool:
    return _each_once(text, _HOSTNAME)


_RULES: Final[dict[str, _Rule | None]] = {
    "service": _Rule(
        _DNS_1035,
        "must be a DNS-1035 label: lower-case letters, digits and '-', a letter first, at most 63 characters",
        "FI101",
    ),
    "component-type": _one_of(*COMPONENT_TYPES),
    "role-name": _Rule(
        _DNS_1123,
        "must be a DNS-1123 label: lower-case letters, digits and '-', at most 63 characters",
        "FI105",
    ),
    "roles": _Rule(_are_names, f"must be role names {_LIST}", "FI106"),
    "scheduler-name": _Rule(
        re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?").fullmatch,
        "must be the name of a scheduler, for example volcano or default-scheduler",
        "FI104",
    ),
    "launcher": _Rule(_DNS_1123, "must be the name of a launcher, auto or none", "FI104"),
    "engine-container": _Rule(_DNS_1123, "must be the name of a container", "FI104"),
    "inject": _one_of("disabled"),
    "refresh": None,
    "paused": _one_of("true", "false"),
    "skip": _Rule(_are_names, f"must be names of parts {_LIST}", "FI104"),
    "strategy": _one_of(*STRATEGIES),
    "gateway": _Rule(
        re.compile(rf"({_LABEL}/)?{_SUBDOMAIN}").fullmatch,
        "must be the name of a Gateway, or namespace/name",
        "FI104",
    ),
    "hostnames": _Rule(_are_hostnames, f"must be hostnames {_LIST}", "FI104"),
    "endpoint-picker-config": None,
    "picker": _one_of(*PICKERS),
    "picker-replicas": _Rule(re.compile("[1-9]").fullmatch, "must be a number from 1 to 9", "FI104"),
    "expansion": None,
}
