"""The InferenceService as it crosses the wire: `fusioninfer.io/v1alpha1`, one model a Kubernetes type.

The CRD and `docs/inferenceservice.md` are made from these models; their docstrings are what users read there.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from intent import Object
from intent.pickers.configuration import LONGEST

GROUP: Final = "fusioninfer.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "InferenceService"
PLURAL: Final = "inferenceservices"

ROUTER_FIELDS: Final = ("strategy", "httproute", "gateway", "endpointPickerConfig")
ENGINE_FIELDS: Final = ("replicas", "multinode", "template", "roleReplicas", "podReplicas")
ALIASES: Final = {"roleReplicas": "replicas", "podReplicas": "multinode.nodeCount"}
"""Words of an earlier design, and what they are called now."""

ComponentType = Literal["router", "worker", "prefiller", "decoder"]
Strategy = Literal["prefix-cache", "kv-cache-utilization", "queue-size", "lora-affinity", "pd-disaggregation"]
Phase = Literal["Pending", "Deploying", "Running", "Failed", "Unknown"]

_INT32: Final = 2**31 - 1

Count = Annotated[int, Field(ge=0, le=_INT32, json_schema_extra={"format": "int32"})]
Positive = Annotated[int, Field(ge=1, le=_INT32, json_schema_extra={"format": "int32"})]
Generation = Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Name = Annotated[str, Field(max_length=63, pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]


def _keyed_by(key: str) -> Object:
    """Say that items of a list merge by a key, as server-side apply asks."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


class _Model(BaseModel):
    """No field is nullable: what is absent has its default, and `model_fields_set` tells who is there."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        """Leave nulls out, as the API server does (`structural-schema` `PruneNonNullableNulls...`)."""
        return (
            {key: item for key, item in value.items() if item is not None}
            if isinstance(value, dict)
            else value
        )


class Multinode(_Model):
    """Several nodes for one replica. Absent: one pod a replica."""

    node_count: Positive
    """On how many nodes one replica runs: the pods of one group, a leader and its workers."""


class Role(_Model):
    """A part of the service: an engine (worker, prefiller, decoder), or the router before them."""

    name: Name
    """Unique in the service, a DNS-1123 label. Its LeaderWorkerSet is `<service>-<name>`."""
    component_type: ComponentType
    """What the role does: the whole of a request, its prompt, its answer, or the routing."""
    replicas: Count = 1
    """How many independent instances, each of `multinode.nodeCount` pods. Absent: left alone, starts as 1."""
    multinode: Multinode = Multinode.model_construct(node_count=1)
    template: Object = {}
    """The pods of an engine (PodTemplateSpec), with the plain single-node command."""
    strategy: Strategy = "prefix-cache"
    """Of a router: how requests are spread. Absent: `pd-disaggregation` if there are prefillers and decoders,
    else `prefix-cache`."""
    httproute: Object = {}
    """Of a router: the spec of an HTTPRoute of the Gateway API, with its parentRefs or beside `gateway`."""
    gateway: Object = {}
    """Of a router: the spec of a Gateway of the Gateway API, made as `<service>-gateway`."""
    endpoint_picker_config: Annotated[str, Field(max_length=LONGEST)] = ""
    """Of a router: an EndpointPickerConfig of your own, as YAML, in place of the strategy's."""
    role_replicas: Count = 1
    """The earlier name of `replicas`."""
    pod_replicas: Positive = 1
    """The earlier name of `multinode.nodeCount`."""

    @property
    def given(self) -> tuple[str, ...]:
        """The fields that its author wrote, by the names that users know, in the order of this model."""
        fields = type(self).model_fields.items()
        return tuple(field.alias or name for name, field in fields if name in self.model_fields_set)

    @property
    def asked(self) -> int | None:
        """The replicas that its author asked for, under either name; None if nobody did."""
        if "replicas" in self.given:
            return self.replicas
        return self.role_replicas if "roleReplicas" in self.given else None

    @property
    def nodes(self) -> int:
        """The pods of one replica, under either name."""
        return self.multinode.node_count if "multinode" in self.given else self.pod_replicas


class SchedulingStrategy(_Model):
    """How the pods of all roles are scheduled."""

    scheduler_name: Annotated[str, Field(max_length=253)] = ""
    """The scheduler of the gang; `default-scheduler`: no gang. Absent: `volcano` where a gang is needed."""


class InferenceServiceSpec(_Model):
    """What its author wants."""

    roles: Annotated[list[Role], Field(min_length=1, max_length=32, json_schema_extra=_keyed_by("name"))]
    """One worker alone, or prefillers and decoders; and at most one router."""
    scheduling_strategy: SchedulingStrategy = SchedulingStrategy()


class Condition(_Model):
    """One condition, as in every Kubernetes status."""

    type: Annotated[str, Field(max_length=316)]
    """What it is about."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    reason: Annotated[str, Field(min_length=1, max_length=1024)]
    """Why, in one word."""
    message: Annotated[str, Field(max_length=32768)]
    """Why, in a sentence."""
    last_transition_time: Time
    """Since when it holds or does not."""
    observed_generation: Generation = 0
    """Which generation of the object it speaks of."""


class ComponentStatus(_Model):
    """One role as it runs."""

    desired_replicas: Count
    """How many replicas are asked for."""
    ready_replicas: Count
    """How many are ready: all pods of their group are."""
    nodes_per_replica: Count
    """How many pods a replica has."""
    total_pods: Count
    """How many pods are asked for: desiredReplicas times nodesPerReplica."""
    ready_pods: Count
    """How many of them are ready."""
    phase: Phase
    """Where the role is in its life, in one word."""
    last_update_time: Time = ""
    """When this was last written."""


class InferenceServiceStatus(_Model):
    """What was observed."""

    observed_generation: Generation = 0
    """Which generation of the object it speaks of."""
    url: str = ""
    """Where the service answers."""
    conditions: Annotated[list[Condition], Field(max_length=32, json_schema_extra=_keyed_by("type"))] = []
    """What holds of the service as a whole."""
    components: dict[str, ComponentStatus] = {}
    """Each engine role as it runs, by its name."""


class InferenceService(_Model):
    """One LLM service: a worker, or prefillers and decoders, each over one node or several; and a router."""

    api_version: Literal["fusioninfer.io/v1alpha1"]
    kind: Literal["InferenceService"]
    metadata: Object
    spec: InferenceServiceSpec
    status: InferenceServiceStatus = InferenceServiceStatus()
