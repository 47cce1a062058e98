"""The operator's settings: one frozen value, read by the command and passed down."""

from dataclasses import dataclass, field

from catalog.engines import ENGINES, Engines
from intent import Object


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the servers and of the offline command (`--config FILE`)."""

    scheduler_name: str = "volcano"
    """The default gang scheduler."""
    launcher: str = "auto"
    """The default launcher of vLLM: used unless the image is known not to run it.

    `auto`: chosen by flags and image (`webhook.launchers.plan`); `none`: commands are left as they are.
    """
    accelerator: str = "nvidia.com/gpu"
    """The resource that an engine requests whose author gives parallel sizes and requests no accelerator.

    Empty: none is requested for them.
    """
    queue: str = ""
    """Volcano's default queue; empty: the PodGroup has no queue, and Volcano chooses one."""
    picker: str = "gie-1.5"
    """The default endpoint picker generation of services without prefill and decode."""
    disaggregated_picker: str = "llm-d-0.10"
    """The default endpoint picker generation of services with prefillers and decoders."""
    picker_replicas: int = 1
    """The default number of endpoint picker replicas; with more than one they elect a leader."""
    picker_registry: str = ""
    """The registry, with a path or without, from which endpoint pickers and sidecars are pulled.

    Empty: the registries of their projects.
    """
    picker_image_pull_secrets: tuple[str, ...] = ()
    """The names of the pull Secrets of endpoint pickers; they must exist in the namespace of each service."""
    picker_resources: Object = field(default_factory=dict)
    """Requests and limits of endpoint pickers; empty: small requests."""
    picker_tolerations: tuple[Object, ...] = ()
    """Tolerations of endpoint pickers."""
    picker_node_selector: Object = field(default_factory=dict)
    """The nodes of endpoint pickers, by label."""
    picker_priority_class_name: str = ""
    """The PriorityClass of endpoint pickers."""
    picker_pod_security_context: Object = field(default_factory=dict)
    """The security context of the pods of endpoint pickers; empty: not root, default seccomp profile."""
    picker_security_context: Object = field(default_factory=dict)
    """The security context of their containers; empty: no capabilities, and a read-only root file system."""
    secure_serving: bool = True
    """Whether gateways call the endpoint picker with TLS; it creates its own certificate."""
    destination_rules: bool = False
    """Whether to create DestinationRules, by which Istio's gateways learn of that TLS; existing ones stay."""
    routes: bool = True
    """Whether services get routes; if not, existing ones are neither read, changed nor deleted."""
    gateways: bool | tuple[str, ...] = True
    """Whether InferenceServices may bring Gateways of their own; or the GatewayClasses that they may name."""
    ingresses: bool | tuple[str, ...] = True
    """Whether InferenceServices may bring Ingresses; or the IngressClasses that they may name."""
    api_services: bool = True
    """Whether each service gets a Service on its leaders, `<service>-api`; if not, existing ones stay."""
    namespaces: tuple[str, ...] = ()
    """The namespaces that the controller watches; empty: all."""
    templates_namespace: str = ""
    """The namespace whose InferenceTemplates serve all namespaces; empty: the controller reads none."""
    observe_only: bool = False
    """Whether the controller writes nothing, and only reports what it would write."""
    storage_initializer_image: str = "kserve/storage-initializer:v0.21.0"
    """The image that downloads models before the engine starts: KServe's, or one with the same arguments."""
    storage_initializer_resources: Object = field(default_factory=dict)
    """Its requests and limits; empty: limits of 2 CPUs and 4Gi."""
    kubernetes_version: str = ""
    """The version of the cluster, e.g. `1.35`; empty: not known. Older ones mount no images."""
    engines: Engines = ENGINES
    """Facts about engines: the rows of the operator's file, then those of this release."""
