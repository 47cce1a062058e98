"""The API type InferenceService, `fusioninfer.io/v1alpha1`: one model per Kubernetes type.

The CRD and `docs/inferenceservice.md` are generated from these models, including their docstrings.
"""

from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from intent import Object
from intent.annotations import ComponentType
from intent.inferenceservice.pods import MOST_PODS, pods_of
from intent.lora import LONGEST_NAME, MOST
from intent.names import DATA_KEY, DNS_SUBDOMAIN, LABEL_KEY, LABEL_VALUE
from intent.parallelism import LARGEST, Parallelism
from intent.pickers.configuration import LONGEST
from intent.served import HIGHEST
from intent.template import TEMPLATES_LIMIT

GROUP: Final = "fusioninfer.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "InferenceService"
PLURAL: Final = "inferenceservices"

ROUTER_FIELDS: Final = (
    *("strategy", "httproute", "gateway", "endpointPickerConfig", "configRef", "pool", "ingress"),
)
ENGINE_FIELDS: Final = (
    *("replicas", "scaling", "multinode", "parallelism", "rolloutStrategy", "worker", "acceleratorTypes"),
    *("sidecar", "baseRefs", "roleReplicas", "podReplicas"),
)
ALIASES: Final = {"roleReplicas": "replicas", "podReplicas": "multinode.nodeCount"}
"""Earlier names of fields, and the current ones."""

RoleComponentType = Literal["router", ComponentType]
Strategy = Literal["prefix-cache", "kv-cache-utilization", "queue-size", "lora-affinity", "pd-disaggregation"]
Phase = Literal["Pending", "Deploying", "Running", "Failed", "Unknown"]

MOST_ADDRESSES: Final = 32
MOST_APPLIED: Final = 64

NonNegative = Annotated[int, Field(ge=0, le=MOST_PODS, json_schema_extra={"format": "int32"})]
Size = Annotated[int, Field(ge=1, le=LARGEST, json_schema_extra={"format": "int32"})]
Port = Annotated[int, Field(ge=1, le=HIGHEST, json_schema_extra={"format": "int32"})]
Positive = Annotated[int, Field(ge=1, le=MOST_PODS, json_schema_extra={"format": "int32"})]
LoraLimit = Annotated[int, Field(ge=1, le=9999, json_schema_extra={"format": "int32"})]
Generation = Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Priority = Annotated[Any, Field(json_schema_extra={"x-kubernetes-int-or-string": True})]
"""A name or a number; `topology` checks it."""
Name = Annotated[str, Field(max_length=63, pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
_NAME: Final = {"pattern": f"^{DNS_SUBDOMAIN}$"}
"""For the API server: here `topology` checks names, as one that was stored without it must be readable."""
ObjectName = Annotated[str, Field(min_length=1, max_length=253, json_schema_extra=_NAME)]
DataKey = Annotated[str, Field(min_length=1, max_length=253, json_schema_extra={"pattern": f"^{DATA_KEY}$"})]
OptionalName = Annotated[str, Field(max_length=253, json_schema_extra={"pattern": f"^$|^{DNS_SUBDOMAIN}$"})]
LabelKey = Annotated[
    str, Field(min_length=1, max_length=317, json_schema_extra={"pattern": f"^{LABEL_KEY}$"})
]
LabelValue = Annotated[
    str, Field(min_length=1, max_length=63, json_schema_extra={"pattern": f"^{LABEL_VALUE}$"})
]


def _keyed_by(key: str) -> Object:
    """Return the extensions by which server-side apply merges items of a list by a key."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


@cache
def _names(model: type[BaseModel]) -> frozenset[str]:
    """Return the JSON names of the fields of a model."""
    return frozenset(field.alias or name for name, field in model.model_fields.items())


class ApiModel(BaseModel):
    """A model without nullable fields; `model_fields_set` contains the fields that are present."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )

    @property
    def given(self) -> tuple[str, ...]:
        """The fields that its author set, by their JSON names, in the order of this model."""
        fields = type(self).model_fields.items()
        return tuple(field.alias or name for name, field in fields if name in self.model_fields_set)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        """Remove the nulls of known fields, as the API server does (`PruneNonNullableNulls...`).

        It refuses an unknown field that is null, where validation is strict.
        """
        if not isinstance(value, dict):
            return value
        known = _names(cls)
        return {key: item for key, item in value.items() if item is not None or key not in known}


class Multinode(ApiModel):
    """Multi-node replicas. Absent: one pod per replica."""

    node_count: Positive
    """Number of nodes of one replica: the pods of one group, a leader and its workers."""


class RoleParallelism(ApiModel):
    """Parallel sizes of the engine, as flags of vLLM or SGLang (`docs/parallelism.md`)."""

    tensor: Size = 1
    """Tensor parallel size: the accelerators that share each layer."""
    pipeline: Size = 1
    """Pipeline parallel size: the stages, each with a part of the layers."""
    data: Size = 1
    """Data-parallel ranks of one replica."""
    data_local: Size = 1
    """Data-parallel ranks of one pod: `data` must be a multiple. Absent: spread evenly over the pods."""
    expert: bool = False
    """Whether the experts of a layer are spread over the accelerators, and not each of them split."""
    data_rpc_port: Annotated[Port, Field(alias="dataRPCPort")] = 1
    """Port on the leader by which data-parallel ranks of other pods join. Absent: the engine's default."""

    @property
    def sizes(self) -> Parallelism:
        """What its author set."""
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        port = fields.pop("data_rpc_port", 0)
        return Parallelism(**fields, rpc_port=port)


class AcceleratorTypes(ApiModel):
    """Nodes with one of these labels only: required node affinity, in addition to that of the templates."""

    label_key: LabelKey
    """Label of nodes that names their accelerator, such as `nvidia.com/gpu.product`."""
    label_values: Annotated[
        list[LabelValue],
        Field(min_length=1, max_length=64, json_schema_extra={"x-kubernetes-list-type": "set"}),
    ]
    """Accepted values of the label."""


Stages = Annotated[
    list[Literal["prefiller", "decoder"]],
    Field(max_length=2, json_schema_extra={"x-kubernetes-list-type": "set"}),
]


class Sidecar(ApiModel):
    """Decoders only: options of the routing sidecar."""

    connector: Annotated[str, Field(max_length=63)] = ""
    """Protocol of the KV cache transfer, one that the sidecar supports. Absent: `nixlv2`."""
    tls: Stages = []
    """What the sidecar calls with TLS: prefillers, the decoder beside it, or both."""
    insecure_skip_verify: Stages = []
    """Of `tls`, those whose certificates are not verified."""
    secret_name: OptionalName = ""
    """Secret with `tls.crt` and `tls.key`, with which the sidecar serves; its certificates are trusted too.
    Absent: it serves without TLS."""


class ConfigRef(ApiModel):
    """Router only: a ConfigMap with an EndpointPickerConfig, in place of `endpointPickerConfig`.

    Its changes are followed within half a minute; if it has the label `fusioninfer.io/service`, at once.
    """

    name: ObjectName
    """Name of the ConfigMap, in the namespace of the service."""
    key: DataKey
    """Key of its `data`."""


class PoolRef(ApiModel):
    """InferencePool in the namespace of the service."""

    name: ObjectName
    """Name of the InferencePool."""


class Pool(ApiModel):
    """Router only: an InferencePool of your own, with its own endpoint picker; none of both is created.

    The HTTPRoute leads to it.
    """

    ref: PoolRef


BaseRefs = Annotated[
    list[ObjectName],
    Field(max_length=TEMPLATES_LIMIT, json_schema_extra={"x-kubernetes-list-type": "set"}),
]


class Role(ApiModel):
    """A component of the service: an engine, or the router in front of them."""

    name: Name
    """Unique in the service, a DNS-1123 label. The LeaderWorkerSet is named `<service>-<name>`."""
    component_type: RoleComponentType
    """Task of the role: whole requests (worker), prompts (prefiller), answers (decoder),
    images for the others (encoder), routing (router)."""
    replicas: NonNegative = 1
    """Number of instances, each of `multinode.nodeCount` pods. Absent: not managed, initially 1."""
    scaling: Object = {}
    """In place of `replicas`: `minReplicas`, `maxReplicas`, `metrics` and `behavior` of a
    HorizontalPodAutoscaler (autoscaling/v2) that scales the role."""
    multinode: Multinode = Multinode.model_construct(node_count=1)
    parallelism: RoleParallelism = RoleParallelism.model_construct()
    """Parallel sizes of the engine. Without `multinode`, they decide the number of nodes too."""
    rollout_strategy: Object = {}
    """How a new template replaces replicas: the `rolloutStrategy` of the LeaderWorkerSet."""
    template: Object = {}
    """Pod template of an engine (PodTemplateSpec), with the plain single-node command. Of a router: changes
    of the pods of its endpoint picker, whose container is named `epp`; `containers` may be empty."""
    worker: Object = {}
    """Pod template of the workers of multi-node replicas, if it differs: then `template` is the leader's."""
    base_refs: BaseRefs = []
    """Names of further InferenceTemplates for this role, after those of `spec.baseRefs`."""
    sidecar: Sidecar = Sidecar()
    accelerator_types: AcceleratorTypes = AcceleratorTypes.model_construct(label_key="", label_values=[])
    strategy: Strategy = "prefix-cache"
    """Router only: how requests are routed. Absent: `pd-disaggregation` with prefillers and decoders,
    else `prefix-cache`."""
    httproute: Object = {}
    """Router only: the spec of an HTTPRoute of the Gateway API, with parentRefs or with `gateway`."""
    gateway: Object = {}
    """Router only: the spec of a Gateway of the Gateway API, created as `<service>-gateway`."""
    ingress: Object = {}
    """Router only: the spec of an Ingress, created as `<service>-ingress`. What has no backend leads to the
    Service `<service>-api`: a path, a rule without paths, an Ingress without rules. A router that has nothing
    else gets no endpoint picker."""
    endpoint_picker_config: Annotated[str, Field(max_length=LONGEST)] = ""
    """Router only: an EndpointPickerConfig of your own, as YAML, in place of the strategy's."""
    config_ref: ConfigRef = ConfigRef.model_construct(name="", key="")
    pool: Pool = Pool.model_construct(ref=PoolRef.model_construct(name=""))
    role_replicas: NonNegative = 1
    """The earlier name of `replicas`."""
    pod_replicas: Positive = 1
    """The earlier name of `multinode.nodeCount`."""

    @property
    def asked(self) -> int | None:
        """The replicas that its author set, under either name; None if absent."""
        if "replicas" in self.given:
            return self.replicas
        return self.role_replicas if "roleReplicas" in self.given else None

    @property
    def is_scaled(self) -> bool:
        """Whether it has an autoscaler, which decides the replicas even if they are set too."""
        return "scaling" in self.given

    @property
    def nodes(self) -> int:
        """The pods of one replica, under either name; else as many as its parallel sizes need."""
        if "multinode" in self.given:
            return self.multinode.node_count
        if "podReplicas" in self.given or "parallelism" not in self.given:
            return self.pod_replicas
        return pods_of(self.parallelism.sizes, self.template)


class ModelSource(ApiModel):
    """The model that all engines of the service run (`docs/model.md`)."""

    uri: Annotated[str, Field(min_length=1, max_length=1024)]
    """URI of the model: hf://, pvc://, pvc+hf://, oci://, s3://, gs:// or https://."""
    name: Annotated[str, Field(max_length=253)] = ""
    """Name under which the engines serve it. Absent: the repository of Hugging Face, or for files the name of
    the service."""
    secret_name: OptionalName = ""
    """Name of the Secret with the token or the keys for the download."""
    cache: Annotated[str, Field(max_length=1024)] = ""
    """Where its files are kept: pvc://CLAIM/PATH, or a size such as 500Gi. Absent: an emptyDir.
    `download`: an init container downloads them, not the engine."""


class LoraAdapter(ApiModel):
    """One LoRA adapter, which requests name as their model."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    """Name of the adapter, unique in the service: letters, digits, '-', '_', '.' and '/'."""
    uri: Annotated[str, Field(min_length=1, max_length=1024)]
    """URI of its files: hf://, s3://, gs://, https://, pvc:// or oci://."""
    priority: Priority = ""
    """Priority of the requests that name `<service>.<adapter>` as their InferenceObjective. Absent: none is
    created."""


class LoraAdapters(ApiModel):
    """LoRA adapters of the engines (`docs/model.md`)."""

    adapters: Annotated[
        list[LoraAdapter], Field(min_length=1, max_length=MOST, json_schema_extra=_keyed_by("name"))
    ]
    """The adapters."""
    max_rank: LoraLimit = 0
    """Highest rank of an adapter. Absent: the engine's own default; vLLM's is 16."""
    max_adapters: LoraLimit = 0
    """Adapters that one batch may use. Absent: all of them with vLLM, 8 with SGLang."""
    max_cpu_adapters: LoraLimit = 0
    """Adapters that are kept in memory. Absent: the engine's own default."""


class SchedulingStrategy(ApiModel):
    """Scheduling of the pods of all roles."""

    scheduler_name: Annotated[str, Field(max_length=253)] = ""
    """The scheduler of the gang; `default-scheduler`: no gang. Absent: `volcano` where a gang is needed."""


class InferenceServiceSpec(ApiModel):
    """Desired state of the service."""

    roles: Annotated[list[Role], Field(min_length=1, max_length=32, json_schema_extra=_keyed_by("name"))]
    """One worker, or prefillers and decoders; encoders beside them; and at most one router."""
    scheduling_strategy: SchedulingStrategy = SchedulingStrategy()
    base_refs: BaseRefs = []
    """Names of InferenceTemplates, in order, of this namespace or of the operator's: later ones win, and the
    fields of the service over all (`docs/templates.md`)."""
    follow_templates: bool = False
    """Whether a changed template is taken at once, with a rolling update of the roles that name it. Absent:
    pods keep what they were made with."""
    model: ModelSource = ModelSource.model_construct(uri="")
    """The model, as volumes and arguments of the engines. Absent: their arguments name it."""
    lora: LoraAdapters = LoraAdapters.model_construct(adapters=[])
    """LoRA adapters, as volumes and arguments of the engines."""
    priority: Priority = ""
    """Priority of the requests that name the service as their InferenceObjective: `Critical` (100),
    `Standard` (0), `Sheddable` (-100), or a whole number. Needs a router with an endpoint picker."""


class Condition(ApiModel):
    """A condition, as in the status of every Kubernetes API."""

    type: Annotated[str, Field(max_length=316)]
    """Type of the condition."""
    status: Literal["True", "False", "Unknown"]
    """Status of the condition."""
    reason: Annotated[str, Field(min_length=1, max_length=1024)]
    """Machine-readable reason."""
    message: Annotated[str, Field(max_length=32768)]
    """Human-readable reason."""
    last_transition_time: Time
    """Time of the last change of the status."""
    observed_generation: Generation = 0
    """The metadata.generation that was observed."""


class ComponentStatus(ApiModel):
    """Observed state of one role."""

    desired_replicas: NonNegative
    """Number of desired replicas."""
    ready_replicas: NonNegative
    """Number of replicas whose pods are all ready."""
    nodes_per_replica: NonNegative
    """Number of pods of one replica."""
    total_pods: NonNegative
    """Number of desired pods: desiredReplicas times nodesPerReplica."""
    ready_pods: NonNegative
    """Number of ready pods."""
    phase: Phase
    """Phase of the role."""
    ready: str = ""
    """Ready and desired replicas, such as `2/3`."""
    last_update_time: Time = ""
    """Time of the last update of this entry."""


class Address(ApiModel):
    """An address of the service."""

    name: str
    """The object that serves it, such as `Gateway default/web`, `Ingress r1-ingress` or `Service r1-api`."""
    url: str
    """URL under which that object serves the service; that of a Service is for clients in the cluster."""


class AppliedTemplate(ApiModel):
    """A version of an InferenceTemplate that a role has, or the router."""

    name: str
    """Name of the template."""
    namespace: str
    """Its namespace: that of the service, or the operator's."""
    generation: Generation = 0
    """The metadata.generation that was read."""
    current: bool = True
    """Whether the template is still as it was read."""


class ReadyCounts(ApiModel):
    """Ready and desired replicas, such as `2/3`."""

    replicas: str = ""
    """Of all engine roles."""


class InferenceServiceStatus(ApiModel):
    """Observed state of the service."""

    observed_generation: Generation = 0
    """The metadata.generation that was observed."""
    url: str = ""
    """URL of the service."""
    addresses: Annotated[list[Address], Field(max_length=MOST_ADDRESSES)] = []
    """All addresses of the service; `url` is the first one outside of the cluster."""
    ready: ReadyCounts = ReadyCounts()
    applied_templates: Annotated[list[AppliedTemplate], Field(max_length=MOST_APPLIED)] = []
    """Versions of the InferenceTemplates that its roles have."""
    conditions: Annotated[list[Condition], Field(max_length=32, json_schema_extra=_keyed_by("type"))] = []
    """Conditions of the service as a whole."""
    components: dict[str, ComponentStatus] = {}
    """Observed state of each engine role, by its name."""


class InferenceService(ApiModel):
    """An LLM service: a worker, or prefillers and decoders, each on one node or several; and a router."""

    api_version: Literal["fusioninfer.io/v1alpha1"]
    kind: Literal["InferenceService"]
    metadata: Object
    spec: InferenceServiceSpec
    status: InferenceServiceStatus = InferenceServiceStatus()
