"""Annotations under `fusioninfer.io/`: one dataclass field each, from which everything else is derived.

A field carries its key, its documentation, the check of its value, and the field of an InferenceService that
replaces it. Reading, hints for unknown keys, rules of the InferenceService and the table of
docs/annotations.md follow from the fields of `Annotations` and `Routing`. To add an annotation, add a field.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from catalog.pickers.generations import PICKERS
from intent import Object
from intent.errors import SOUGHT, FieldError, nearest, suggested
from intent.lora import LIMITS, Lora, lora_fault, read_lora
from intent.model import REFERENCE, SCHEMES, Model, cache_fault, read_model, uri_fault
from intent.names import is_dns_1035_label, is_hostname, is_label, is_subdomain
from intent.parallelism import Parallelism, fault, read_parallelism
from intent.priority import ACCEPTED, PRIORITIES, is_priority
from intent.sidecar import FORM, NO_OPTIONS, SidecarOptions, read_options
from intent.template import TEMPLATES_LIMIT

ComponentType = Literal["worker", "prefiller", "decoder", "encoder"]

PREFIX: Final = "fusioninfer.io/"
SERVICE: Final = PREFIX + "service"
COMPONENT_TYPE: Final = PREFIX + "component-type"
ROLE_NAME: Final = PREFIX + "role-name"
ROLES: Final = PREFIX + "roles"
SCHEDULER_NAME: Final = PREFIX + "scheduler-name"
LAUNCHER: Final = PREFIX + "launcher"
ENGINE_CONTAINER: Final = PREFIX + "engine-container"
SKIP: Final = PREFIX + "skip"
PARALLELISM: Final = PREFIX + "parallelism"
MODEL: Final = PREFIX + "model"
MODEL_NAME: Final = PREFIX + "model-name"
MODEL_SECRET: Final = PREFIX + "model-secret"
MODEL_CACHE: Final = PREFIX + "model-cache"
LORA: Final = PREFIX + "lora"
BASE_REFS: Final = PREFIX + "base-refs"
SIDECAR: Final = PREFIX + "sidecar"
STRATEGY: Final = PREFIX + "strategy"
GATEWAY: Final = PREFIX + "gateway"
HOSTNAMES: Final = PREFIX + "hostnames"
ENDPOINT_PICKER_CONFIG: Final = PREFIX + "endpoint-picker-config"
PICKER: Final = PREFIX + "picker"
PICKER_REPLICAS: Final = PREFIX + "picker-replicas"
PRIORITY: Final = PREFIX + "priority"
REFRESH: Final = PREFIX + "refresh"
INJECT: Final = PREFIX + "inject"
PAUSED: Final = PREFIX + "paused"
EXPANSION: Final = PREFIX + "expansion"
TEMPLATES_VERSION: Final = PREFIX + "templates-version"
UNREAD: Final = frozenset({EXPANSION, PAUSED, TEMPLATES_VERSION})
"""Annotations that no concern reads."""
UNANSWERED: Final = "admission did not answer"
"""Value of the label `SERVICE` in each write of a rendered LeaderWorkerSet; no valid label value, on purpose.

Our mutating webhook sets the label to the service's name. Without it the API server refuses the write
(ADR 13).
"""
NOT_EXPANDED: Final = "not expanded: "
"""How the value begins in which our mutating webhook writes why it cannot expand the object: no valid one."""

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
GROUP_SIZE: Final = "leaderworkerset.sigs.k8s.io/size"
REVISION: Final = "disaggregatedset.x-k8s.io/revision"
"""The label of LeaderWorkerSets and pods that a DisaggregatedSet made (LWS `api/disaggregatedset/v1`)."""
SLICE: Final = "disaggregatedset.x-k8s.io/slice"
"""The same, with the number of the slice. LWS 0.9 has none; for LWS 0.10, its objects are in slice 0."""
LEADER_LABELS: Final = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
"""Label of leader pods, the only endpoints of a service. The one pod of a group of size 1 has it too."""
LLM_D_ROLE: Final = "llm-d.ai/role"
SERVING_LABELS: Final = {f"{PREFIX}serves": "all"}
"""Label of the pods of a group in which every pod serves, not only the leader."""
ACTIVE_PORTS: Final = ("inference.networking.k8s.io/active-ports", "llm-d.ai/active-ports")
"""Annotations by which a pod tells endpoint pickers on which ports of the pool it serves (the second is the
name since llm-d's router 0.9)."""

COMPONENT_TYPES: Final[tuple[ComponentType, ...]] = ("worker", "prefiller", "decoder", "encoder")
DEFAULT_ROLE: Final[dict[ComponentType, str]] = {
    "worker": "worker",
    "prefiller": "prefill",
    "decoder": "decode",
    "encoder": "encode",
}
LLM_D_ROLES: Final[dict[ComponentType, str]] = DEFAULT_ROLE | {"worker": "both"}
PARTS: Final = ("env", "shm", "shm-limit", "probes", "startup-probe", "dns", "port", "sidecar")
"""Parts of a launch that `skip` leaves out; each is a concern of `webhook.mutate`."""
LAUNCHERS: Final = ("ray-symmetric", "vllm-native", "ray-start", "sglang")
"""The names of the launchers, which `webhook.launchers` has in the same order."""
AUTO: Final = "auto"
NONE: Final = "none"
DISAGGREGATION: Final = "pd-disaggregation"
STRATEGIES: Final = ("prefix-cache", "kv-cache-utilization", "queue-size", "lora-affinity", DISAGGREGATION)
SPLIT: Final = f"prefillers and decoders need {DISAGGREGATION}: others send requests to prefillers too"
"""Message for any other strategy on prefillers and decoders."""


# --- checks of values ---------------------------------------------------------------------------------


ValueCheck = Callable[[str], str]
"""Returns what is wrong with the text of an annotation, and what would be right; empty if nothing is."""


def _must(accepts: Callable[[str], object], message: str) -> ValueCheck:
    return lambda text: "" if accepts(text) else message


_MODEL_NAME: Final = re.compile(r"[^\s,=\-][^\s,]{0,252}")
"""A name that is no flag, and one item of a list."""
_LONGEST: Final = 4096
"""Characters of a list of names: an HTTPRoute takes 16 hostnames of 253."""
_LIST: Final = f"separated by commas, each once, at most {_LONGEST} characters"


def _one_of(*values: str, message: str = "") -> ValueCheck:
    return _must(values.__contains__, message or f"must be one of {', '.join(values)}")


def _is_list(text: str, accepts: Callable[[str], bool]) -> bool:
    """Return whether a text is a list separated by commas, without duplicates."""
    items = [item.strip() for item in text.split(",")] if len(text) <= _LONGEST else []
    return bool(items) and len(set(items)) == len(items) and all(map(accepts, items))


def _list_of(what: str, accepts: Callable[[str], bool]) -> ValueCheck:
    return _must(lambda text: _is_list(text, accepts), f"must be {what} {_LIST}")


def _is_gateway(text: str) -> bool:
    """Return whether a text is the name of a Gateway, or namespace/name."""
    namespace, slash, name = text.rpartition("/")
    return is_subdomain(name) and (is_label(namespace) if slash else True)


def in_order(text: str) -> tuple[str, ...]:
    """Split a list separated by commas, of which the order counts."""
    return tuple([name.strip() for name in text.split(",")])


def names(text: str) -> tuple[str, ...]:
    """Split a list separated by commas and sort it; the order has no meaning."""
    return tuple(sorted(name.strip() for name in text.split(",") if name.strip())) if text else ()


# --- the table ----------------------------------------------------------------------------------------

CARRIED: Final = "carried"
"""May stand on an InferenceService, or on the template of a role for that role."""
OF_ROUTER: Final = "router"
"""May stand on an InferenceService, for its router."""
OF_SERVICE: Final = "service"
"""May stand on an InferenceService, for all of its roles."""
_META: Final = "annotation"


@dataclass(frozen=True, slots=True)
class Key:
    """The metadata of one field: an annotation, its documentation, and how its value is read."""

    key: str
    value: str
    """Documentation of the value, in Markdown."""
    default: str
    """Documentation of what applies if the annotation is absent."""
    check: ValueCheck | None
    parse: Callable[[str], Any]
    service: str
    """Use on an InferenceService: `CARRIED`, `OF_ROUTER`, `OF_SERVICE`, or the field that replaces it."""

    @property
    def name(self) -> str:
        """The key without the prefix."""
        return self.key.removeprefix(PREFIX)

    def violations(self, value: Any) -> Iterator[FieldError]:
        """Check a value as it stands in the object."""
        if not isinstance(value, str):
            yield FieldError(path(self.key), value, "must be a string", "FI108")
        elif self.check is not None and (message := self.check(value)):
            yield FieldError(path(self.key), value, message, "FI104")


def _annotation(  # noqa: PLR0913 - the columns of the table
    key: str,
    value: str,
    check: ValueCheck | None = None,
    *,
    absent: str = "-",
    parse: Callable[[str], Any] = str,
    service: str = CARRIED,
    default: Any = "",
    compare: bool = True,
) -> Any:
    """Declare the field of one annotation; `absent` documents its default."""
    row = Key(key, value, absent, check, parse, service)
    return field(default=default, compare=compare, metadata={_META: row})


@dataclass(frozen=True, slots=True)
class Routing:
    """The annotations about routes, or what the router of an InferenceService asks for in their place."""

    strategy: str = _annotation(
        STRATEGY,
        f"how requests are routed: {', '.join(f'`{name}`' for name in STRATEGIES)}. "
        f"`{DISAGGREGATION}` must be set on every decoder",
        _one_of(*STRATEGIES),
        absent="no routes",
        service="spec.roles[{router}].strategy",
    )
    """Empty where the author brings a whole configuration."""
    gateway: str = _annotation(
        GATEWAY,
        "`name` or `namespace/name` of the Gateway that the HTTPRoute attaches to",
        _must(_is_gateway, "must be the name of a Gateway, or namespace/name"),
        absent="no HTTPRoute",
        service="spec.roles[{router}].httproute",
    )
    """Empty: no HTTPRoute, unless `http_route` has parents."""
    hostnames: tuple[str, ...] = _annotation(
        HOSTNAMES,
        "hostnames of the HTTPRoute, separated by commas",
        _list_of("hostnames", is_hostname),
        absent="all of the Gateway's",
        parse=names,
        service="spec.roles[{router}].httproute",
        default=(),
    )
    config: str = _annotation(
        ENDPOINT_PICKER_CONFIG,
        "an EndpointPickerConfig of your own, as YAML, in place of the strategy's",
        service="spec.roles[{router}].endpointPickerConfig",
    )
    picker: str = _annotation(
        PICKER,
        "the generation of the endpoint picker, a row of `docs/routing.md`",
        _one_of(*PICKERS),
        absent="the operator's",
        service=OF_ROUTER,
    )
    picker_replicas: int = _annotation(
        PICKER_REPLICAS,
        "number of endpoint picker replicas, of which one is active: 1 to 9",
        _must(re.compile("[1-9]").fullmatch, "must be a number from 1 to 9"),
        absent="the operator's",
        parse=int,
        service=OF_ROUTER,
        default=0,
    )
    priority: str = _annotation(
        PRIORITY,
        f"priority of the requests: {', '.join(f'`{name}`' for name in PRIORITIES)} or a whole number. "
        "Needs a `strategy`, and a header in each request (`docs/routing.md`)",
        _must(is_priority, ACCEPTED),
        absent="that of other requests: 0",
        service="spec.priority",
    )
    """Empty: no InferenceObjective."""
    http_route: Object = field(default_factory=dict, hash=False)
    """The spec of an HTTPRoute, from the router of an InferenceService; no annotation."""

    @property
    def wanted(self) -> bool:
        """Whether an endpoint picker is asked for; all other fields only refine it."""
        return bool(self.strategy or self.config)


NO_ROUTING: Final = Routing()


@dataclass(frozen=True, slots=True)
class Annotations:
    """The annotations of one object, read. A field is at its default where its annotation is absent."""

    service: str = _annotation(
        SERVICE,
        "name of the service, a DNS-1035 label. **Its presence opts in.**",
        _must(
            is_dns_1035_label,
            "must be a DNS-1035 label: lower-case letters, digits and '-', a letter first, "
            "at most 63 characters",
        ),
        service="metadata.name",
    )
    component_type: ComponentType = _annotation(
        COMPONENT_TYPE,
        "`worker`, `prefiller`, `decoder` or `encoder`",
        _one_of(*COMPONENT_TYPES),
        absent="`worker`",
        service="spec.roles[{role}].componentType",
        default="worker",
    )
    role_name: str = _annotation(
        ROLE_NAME,
        "unique in the service; of a DisaggregatedSet, in one slice and revision",
        _must(
            is_label, "must be a DNS-1123 label: lower-case letters, digits and '-', at most 63 characters"
        ),
        absent="`worker`, `prefill`, `decode`, `encode` by component type",
        service="spec.roles[{role}].name",
    )
    roles: tuple[str, ...] = _annotation(
        ROLES,
        "names of the roles that must exist before anything may start",
        _list_of("role names", is_label),
        absent="≥ 1 prefiller and ≥ 1 decoder",
        parse=names,
        service="spec.roles",
        default=(),
    )
    scheduler_name: str = _annotation(
        SCHEDULER_NAME,
        "scheduler of the gang; `default-scheduler`: no gang",
        _must(
            re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?").fullmatch,
            "must be the name of a scheduler, for example volcano or default-scheduler",
        ),
        absent="`volcano` if a gang is needed",
        service="spec.schedulingStrategy.schedulerName",
    )
    launcher: str = _annotation(
        LAUNCHER,
        "a launcher of `docs/launchers.md`, `auto` (by image and flags), or `none`",
        _one_of(*LAUNCHERS, AUTO, NONE),
        absent="`auto`",
    )
    engine_container: str = _annotation(
        ENGINE_CONTAINER,
        "name of the container to wrap",
        _must(is_label, "must be the name of a container"),
        absent="found by accelerator, engine, or being alone",
    )
    skip: tuple[str, ...] = _annotation(
        SKIP,
        f"parts not to add, separated by commas: {', '.join(f'`{part}`' for part in PARTS)}",
        _list_of(f"parts ({', '.join(PARTS)})", PARTS.__contains__),
        parse=names,
        default=(),
    )
    parallelism: Parallelism | None = _annotation(
        PARALLELISM,
        "parallel sizes of the engine, for example `tensor=8,pipeline=2`: `tensor`, `pipeline`, `data`, "
        "`dataLocal` (ranks of one pod), `expert`, `dataRPCPort`",
        fault,
        absent="from the arguments",
        parse=read_parallelism,
        service="spec.roles[{role}].parallelism",
        default=None,
    )
    model: str = _annotation(
        MODEL,
        f"URI of the model: {', '.join(f'`{scheme}://`' for scheme in SCHEMES)}; see `docs/model.md`",
        uri_fault,
        absent="from the arguments",
        service="spec.model.uri",
    )
    model_name: str = _annotation(
        MODEL_NAME,
        "name under which the engine serves the model",
        _must(
            lambda text: _MODEL_NAME.fullmatch(text) and not REFERENCE.search(text),
            "must be one word of at most 253 characters without $(...), for clients to send",
        ),
        absent="`ORG/NAME` of Hugging Face; of files, the service",
        service="spec.model.name",
    )
    model_secret: str = _annotation(
        MODEL_SECRET,
        "name of the Secret with the token or the keys for the download",
        _must(is_subdomain, "must be the name of a Secret"),
        absent="none",
        service="spec.model.secretName",
    )
    model_cache: str = _annotation(
        MODEL_CACHE,
        "where the files of the model are kept: `pvc://CLAIM/PATH`, or a size such as `500Gi`. "
        "`download`: an init container downloads them, not the engine",
        cache_fault,
        absent="an emptyDir",
        service="spec.model.cache",
    )
    lora: str = _annotation(
        LORA,
        "LoRA adapters as `NAME=URI`, separated by commas, and limits "
        f"({', '.join(f'`{name}`' for name in LIMITS)}): `sql=hf://org/sql,maxRank=64`; see `docs/model.md`",
        lora_fault,
        absent="none",
        service="spec.lora",
    )
    base_refs: tuple[str, ...] = _annotation(
        BASE_REFS,
        f"names of InferenceTemplates, in order, separated by commas, at most {TEMPLATES_LIMIT}: later "
        "ones win, and the object wins over all; see `docs/templates.md`",
        _must(
            lambda text: _is_list(text, is_subdomain) and text.count(",") < TEMPLATES_LIMIT,
            f"must be at most {TEMPLATES_LIMIT} names of InferenceTemplates, separated by commas, each once",
        ),
        absent="none",
        parse=in_order,
        service="spec.baseRefs",
        default=(),
    )
    sidecar_options: SidecarOptions = _annotation(
        SIDECAR,
        "options of the routing sidecar of a decoder: `connector=sglang,tls=prefiller+decoder,"
        "insecureSkipVerify=prefiller,secretName=NAME`",
        _must(read_options, FORM),
        absent="`nixlv2` without TLS",
        parse=read_options,
        service="spec.roles[{role}].sidecar",
        default=NO_OPTIONS,
    )
    routing: Routing = NO_ROUTING
    refresh: str = _annotation(
        REFRESH, "any text; change the value to expand the object again with the installed version"
    )
    inject: str = _annotation(
        INJECT,
        "`disabled`: bypass both webhooks for this object",
        _one_of("disabled", message="must be disabled, to bypass the webhooks for this object, or absent"),
        compare=False,
    )
    paused: str = _annotation(
        PAUSED,
        "`true`: the controller writes nothing for the service; one paused member is enough",
        _one_of("true", "false", message="must be true or false"),
        absent="`false`",
        service=OF_SERVICE,
        compare=False,
    )
    expansion: bool = _annotation(
        EXPANSION,
        "managed by FusionInfer: applied changes; do not edit",
        parse=bool,
        service="the annotation of each LeaderWorkerSet",
        default=False,
        compare=False,
    )
    """Whether there is a record; `webhook.overlay.record` reads it. Caches of Intents need no text."""
    templates_version: str = _annotation(
        TEMPLATES_VERSION,
        "managed by FusionInfer: which templates a service has that follows them; do not edit",
        service="spec.followTemplates",
        compare=False,
    )

    @property
    def artifact(self) -> Model | None:
        """The model that the annotations describe; None if only the arguments name one."""
        if not self.model:
            return None
        return read_model(self.model, self.model_name, self.model_secret, self.model_cache, self.service)

    @property
    def adapters(self) -> Lora:
        """The LoRA adapters, parsed."""
        return read_lora(self.lora)

    @property
    def downloads_models(self) -> bool:
        """Whether the engine downloads from Hugging Face itself: it does, unless its model is files."""
        model = self.artifact
        return model is None or model.is_cached

    @property
    def sidecar(self) -> bool:
        """Whether the leader gets our routing sidecar: prompts of this decoder are prefilled elsewhere."""
        is_decoder = self.component_type == "decoder"
        return is_decoder and self.routing.strategy == DISAGGREGATION and "sidecar" not in self.skip


def _rows(kind: type) -> Iterator[tuple[str, Key]]:
    """List the annotations of a dataclass by field name, those of `Routing` in the place of its field."""
    for attribute in fields(kind):
        if _META in attribute.metadata:
            yield attribute.name, attribute.metadata[_META]
        elif attribute.name == "routing":
            yield from _rows(Routing)


_FIELDS: Final = {row.name: (name, row) for name, row in _rows(Annotations)}
KEYS: Final = {name: row for name, (_, row) in _FIELDS.items()}
"""All annotations by their keys without the prefix, in the order of the documentation."""
ROUTING_KEYS: Final = dict(_rows(Routing))
"""The annotations about routes by their field of `Routing`."""


# --- reading ------------------------------------------------------------------------------------------


def is_ours(annotations: Any) -> bool:
    """Return whether any key has our prefix."""
    return isinstance(annotations, dict) and any(key.startswith(PREFIX) for key in annotations)


def is_paused(annotations: Any) -> bool:
    """Return whether the annotations of an object pause the controller for its service."""
    return isinstance(annotations, dict) and annotations.get(PAUSED) == "true"


def path(key: str) -> str:
    """Return the field path of an annotation."""
    return f"metadata.annotations[{key}]"


def read(annotations: Object) -> tuple[Annotations, list[FieldError]]:
    """Read the annotations of a LeaderWorkerSet. An invalid one keeps its default and is reported."""
    mine = {key[len(PREFIX) :]: value for key, value in annotations.items() if key.startswith(PREFIX)}
    unknown = [key for key in mine if key not in KEYS]
    meant = {key: nearest(key, KEYS) if index < SOUGHT else "" for index, key in enumerate(unknown)}
    errors: list[FieldError] = []
    good: dict[str, str] = {}
    for key, value in mine.items():
        faults = [_unknown(key, meant[key])] if key in meant else list(KEYS[key].violations(value))
        errors.extend(faults)
        if not faults:
            good[key] = value
    is_misspelt = "service" in meant.values()
    if mine and "service" not in mine and mine.keys() != {"expansion"} and not is_misspelt:
        message = f"{SERVICE} is missing, without which {PREFIX}{next(iter(mine))} has no effect: add it"
        errors.append(FieldError("metadata.annotations", None, message, "FI103"))
    values = {_FIELDS[key][0]: _FIELDS[key][1].parse(value) for key, value in good.items()}
    routing = {name: values.pop(name) for name in ROUTING_KEYS if name in values}
    values.setdefault("role_name", DEFAULT_ROLE[values.get("component_type", "worker")])
    return Annotations(**values, routing=Routing(**routing) if routing else NO_ROUTING), errors


def _unknown(key: str, meant: str) -> FieldError:
    """Report a key that no field declares; `meant` is the most similar known key, or empty."""
    hint = suggested(meant and PREFIX + meant, f"known are {', '.join(KEYS)}")
    return FieldError(path(PREFIX + key), None, f"unknown annotation{hint}", "FI102")
