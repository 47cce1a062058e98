"""The API type InferenceTemplate, `fusioninfer.io/v1alpha1`: parts of pods and routes that services share.

The CRD and `docs/templates.md` are generated from these models, including their docstrings.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from intent import Object
from intent.annotations import ComponentType
from intent.inferenceservice.v1alpha1 import (
    ApiModel,
    LoraAdapters,
    ModelSource,
    Priority,
    RoleParallelism,
    Strategy,
)
from intent.merge import LONGEST
from intent.pickers.configuration import LONGEST as LONGEST_CONFIGURATION

KIND: Final = "InferenceTemplate"
PLURAL: Final = "inferencetemplates"
SHORT: Final = "ift"
MOST_ENTRIES: Final = 32
MOST_REMOVED: Final = 128

RemovePath = Annotated[str, Field(min_length=1, max_length=LONGEST)]


class Pods(ApiModel):
    """Fields of pods, for the roles and the pods of a group that it names."""

    pods_for: Annotated[Literal["common", ComponentType], Field(alias="for")] = "common"
    """Component type of the roles that get it. Absent: `common`, all of them."""
    part: Literal["all", "leader", "worker"] = "all"
    """Pods of a group that get it. Absent: `all`."""
    template: Object = Field(default_factory=dict)
    """Parts of a pod template (PodTemplateSpec). A text may have variables, such as `$(model.name)`."""
    remove: Annotated[list[RemovePath], Field(default_factory=list, max_length=MOST_REMOVED)]
    """Paths of fields and items that earlier templates set, such as `containers/vllm/env/DEBUG`."""
    args: Literal["merge", "replace", "append"] = "merge"
    """How `args` of its containers join with those of the service. Absent: `merge`, by flag for an engine
    that is known, else `replace`."""


class TemplateRouter(ApiModel):
    """Fields of the router of an InferenceService."""

    strategy: Strategy = "prefix-cache"
    """How requests are routed."""
    httproute: Object = Field(default_factory=dict)
    """Parts of the spec of an HTTPRoute."""
    gateway: Object = Field(default_factory=dict)
    """Parts of the spec of a Gateway."""
    endpoint_picker_config: Annotated[str, Field(max_length=LONGEST_CONFIGURATION)] = ""
    """An EndpointPickerConfig, as YAML."""


class InferenceTemplateSpec(ApiModel):
    """What services get that name the template, wherever they do not set it themselves."""

    pods: Annotated[list[Pods], Field(default_factory=list, max_length=MOST_ENTRIES)]
    """Fields of pods, merged in this order; the service's own fields win."""
    router: TemplateRouter = TemplateRouter()
    model: ModelSource = ModelSource.model_construct(uri="")
    """The model, for services that set none."""
    parallelism: RoleParallelism = RoleParallelism()
    lora: LoraAdapters = LoraAdapters.model_construct(adapters=[])
    """LoRA adapters, for services that set none."""
    priority: Priority = ""
    """Priority of the requests of services that set none."""


class InferenceTemplate(ApiModel):
    """Parts of pods and routes that a platform team writes once, and services name in `base-refs`."""

    api_version: Literal["fusioninfer.io/v1alpha1"]
    kind: Literal["InferenceTemplate"]
    metadata: Object
    spec: InferenceTemplateSpec
