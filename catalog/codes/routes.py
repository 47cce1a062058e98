"""Findings about routes (801 to 849), the routing sidecar (850 to 869), the controller (from 870)."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
    "FI801": Code(
        "error",
        "a worker with a strategy for prefill and decode",
        "choose another strategy, or split the worker into a prefiller and a decoder",
        "strategy: pd-disaggregation is set on a worker",
    ),
    "FI802": Code(
        "warning",
        "the strategy ignores prefill and decode",
        "use strategy: pd-disaggregation, or bring an endpoint-picker-config",
        "the strategy sends requests to prefillers and decoders alike",
    ),
    "FI803": Code(
        "error",
        "an annotation about routes has no effect",
        "add what the message names, or remove the annotation",
        "gateway, hostnames or picker is set, and no route uses it",
    ),
    "FI804": Code(
        "error",
        "a strategy together with an EndpointPickerConfig",
        "remove fusioninfer.io/strategy or fusioninfer.io/endpoint-picker-config",
        "each of the two defines the configuration of the endpoint picker",
    ),
    "FI805": Code(
        "error",
        "the endpoint picker does not support prefill and decode",
        "set fusioninfer.io/picker to one in the message, or disaggregatedPicker in the settings",
        "not every generation of endpoint pickers supports prefill and decode",
    ),
    "FI806": Code(
        "error",
        "members disagree about routes",
        "set the annotation to the same value on every member, or on one only",
        "two members have different values of the annotation in the message",
    ),
    "FI807": Code(
        "error",
        "a decoder without the strategy for prefill and decode",
        "set fusioninfer.io/strategy: pd-disaggregation on every decoder",
        "admission sees one object at a time, so the decoder itself needs the strategy",
    ),
    "FI808": Code(
        "warning",
        "the routes wait for a role",
        "apply the LeaderWorkerSet of the missing role",
        "prefillers and decoders are routed together, and only one of the two exists",
    ),
    "FI809": Code(
        "error",
        "members serve on different ports",
        "use the same ports on all members; a decoder's sidecar serves on the ports of its engine",
        "an InferencePool has the same ports for all of its pods",
    ),
    "FI810": Code(
        "error",
        "the EndpointPickerConfig cannot be read",
        "write one map, as YAML or JSON, of at most 8192 characters",
        "the text is not YAML, or not a map",
    ),
    "FI811": Code(
        "error",
        "the endpoint picker does not read this apiVersion or kind",
        "write the apiVersion and kind in the message",
        "llm-d 0.9 and later have an apiVersion of their own, and read the other one too",
    ),
    "FI812": Code(
        "error",
        "the EndpointPickerConfig has a field that stops the endpoint picker",
        "remove the field, or use the one in the message",
        "endpoint pickers decode their configuration strictly, at any depth",
    ),
    "FI813": Code(
        "error",
        "two plugins of an EndpointPickerConfig have the same name",
        "give each plugin its own name",
        "the name of a plugin without a name is its type",
    ),
    "FI814": Code(
        "error",
        "the endpoint picker has no plugin of that type",
        "use the type in the message, or choose another generation with fusioninfer.io/picker",
        "generations of endpoint pickers have different plugins",
    ),
    "FI815": Code(
        "error",
        "a pluginRef names a plugin that is not declared",
        "declare it under plugins, or correct the name",
        "no declared plugin has the name",
    ),
    "FI816": Code(
        "error",
        "the scheduling profiles are inconsistent",
        "name each profile, use one picker plugin per profile, and one handler that supports several "
        "profiles",
        "the default, single-profile-handler, supports one profile",
    ),
    "FI817": Code(
        "error",
        "a parameter of a plugin stops the endpoint picker",
        "write what the message names instead",
        "the parameter was renamed, or its value has the wrong type; llm-d 0.10 refuses unknown ones",
    ),
    "FI818": Code(
        "warning",
        "a parameter of a plugin has no effect",
        "remove it, or use the name in the message",
        "the endpoint picker ignores parameters that it does not know",
    ),
    "FI820": Code(
        "error",
        "the endpoint picker does not know a feature gate",
        "use a feature gate in the message, or none",
        "generations of endpoint pickers have different feature gates",
    ),
    "FI821": Code(
        "error",
        "a LeaderWorkerSet has the name of an endpoint picker",
        "rename the LeaderWorkerSet or the service",
        "LWS creates a Service of that name; if the endpoint picker's takes its place, no pod finds its "
        "leader",
    ),
    "FI822": Code(
        "warning",
        "the endpoint picker does not track the caches of prefillers",
        "set fusioninfer.io/picker to one in the message, or accept routing by queue and cache use",
        "up to llm-d 0.4 the prefix scorer tracks decoders only, so all prefillers get the same score",
    ),
    "FI823": Code(
        "error",
        "a decoder's sidecar is of another generation than the endpoint picker",
        "set the same fusioninfer.io/picker on every decoder; while decoders roll, wait until the last has",
        "admission sees one object at a time, so the decoder itself needs the generation",
    ),
    "FI824": Code(
        "warning",
        "the routes leave pods of a service without requests",
        "use the same load balancing on prefiller and decoder, or write the label in the message",
        "all pods of one member serve, not all of another, and an InferencePool selects by one label",
    ),
    "FI825": Code(
        "warning",
        "the image of the endpoint picker is gone from its registry",
        "choose the generation in the message with fusioninfer.io/picker, on every decoder, which restarts "
        "those with the old sidecar; or have the operator set pickerRegistry to a mirror",
        "its project has renamed its images, and gives the old ones to nobody any more; what runs stays, and "
        "a node that has the image starts it",
    ),
    "FI826": Code(
        "warning",
        "the endpoint picker does not start in this cluster",
        "choose the generation in the message with fusioninfer.io/picker, or install the CRD",
        "releases of the Inference Extension from 1.6 on lack a CRD that older endpoint pickers need; what "
        "runs stays until it starts again",
    ),
    "FI827": Code(
        "error",
        "the endpoint picker ignores the InferenceObjectives of the priority",
        "create those in the message, with the poolRef SERVICE-pool (docs/routing.md, Priorities)",
        "llm-d 0.9 and later read the InferenceObjectives of their own group where the cluster has that CRD; "
        "requests are served with priority 0",
    ),
    "FI830": Code(
        "warning",
        "a LeaderWorkerSet has the name of the service's Service",
        "rename the LeaderWorkerSet or the service, if clients are to call SERVICE-api",
        "LWS makes a Service of the LeaderWorkerSet's name, by which its pods find their leader",
    ),
    "FI831": Code(
        "warning",
        "the name of the service's Service is too long",
        "use a name of at most 59 characters for the service, if clients are to call SERVICE-api",
        "the name of a Service has at most 63 characters",
    ),
    "FI832": Code(
        "warning",
        "the leaders behind the service's Service serve on different ports",
        "use the same --port on all workers, or on all decoders",
        "a Service has one target port; while ports differ, as in a rollout to another one, it stays",
    ),
    "FI833": Code(
        "error",
        "the operator does not allow this Gateway or Ingress",
        "use a class in the message; or remove gateway, and name a shared Gateway in parentRefs",
        "the settings restrict the Gateways and Ingresses that InferenceServices may bring",
    ),
    "FI834": Code(
        "error",
        "routes, or the Services on the leaders, are switched off",
        "remove the router, annotation or Service; or have the operator set what the message names",
        "routes or apiServices is off in the settings: what exists stays; a decoder gets its sidecar",
    ),
    "FI835": Code(
        "error",
        "an Ingress without the Service that it leads to",
        "remove what the message names, or remove ingress from the router",
        "there is no Service SERVICE-api: another object has its name, or the operator switched it off",
    ),
    "FI836": Code(
        "error",
        "the configuration of the endpoint picker is missing",
        "create the ConfigMap with the key that configRef names; the controller reads it again by itself",
        "the ConfigMap or its key does not exist, or the controller cannot read it; existing routes stay",
    ),
    "FI837": Code(
        "warning",
        "the configuration of the endpoint picker is not among the files",
        "pass the file with the ConfigMap too, so that the configuration is checked and the routes are shown",
        "configRef names a ConfigMap, which the command does not read from a cluster",
    ),
    "FI840": Code(
        "error",
        "the routing sidecar has no such connector",
        "use a connector in the message, or another endpoint picker (docs/routing.md)",
        "the connector is misspelt, or of another release of the sidecar, which would not start",
    ),
    "FI850": Code(
        "error",
        "a container has the name of the routing sidecar",
        "remove it; or keep your own, with sidecar in fusioninfer.io/skip",
        "the author added a routing-proxy, or edited the injected one",
    ),
    "FI851": Code(
        "warning",
        "a decoder gets no routing sidecar",
        "change what the message names; or add your own, with sidecar in fusioninfer.io/skip",
        "the port of the engine's API cannot be moved, or the sidecar could not reach it there; or both are "
        "there already, in an object that was expanded and has lost its record",
    ),
    "FI852": Code(
        "error",
        "the API port is reserved for engines behind a sidecar",
        "set the port that clients call, for example --port 8000; the engine is moved automatically",
        "a port from 8200 to 8299 was chosen, or copied from an expanded object",
    ),
    "FI853": Code(
        "warning",
        "a probe runs a command in a pod with a routing sidecar",
        "let the command call the engine's new port, or use httpGet, which is moved automatically",
        "the sidecar answers /health on the port of the API before the engine does",
    ),
    "FI870": Code(
        "error",
        "the cluster lacks a kind that the service needs",
        "install the CRDs in the message; the other objects of the service are created without it",
        "the API server does not know the kind, or its schema lacks a required field",
    ),
    "FI871": Code(
        "error",
        "an object of that name belongs to another owner",
        "delete or rename that object, or rename the service; until then the object is not created",
        "the object exists, and the controller did not create it for this service",
    ),
    "FI872": Code(
        "error",
        "the API server refuses an object of the service",
        "read the cause in the message; the controller retries after half a minute, later every five",
        "a quota, a policy, an admission webhook, missing permissions of the controller, or a rule of the "
        "object's API beyond its schema",
    ),
    "FI873": Code(
        "error",
        "a LeaderWorkerSet would be stored without expansion",
        "install the webhook configurations, check that they match the namespace, upgrade an older webhook",
        "the API server refused the write: the controller sends a label that admission must replace",
    ),
    "FI874": Code(
        "error",
        "a LeaderWorkerSet is left as it is, because it bypasses admission",
        "remove fusioninfer.io/inject from the object in the message",
        "fusioninfer.io/inject: disabled is set on the LeaderWorkerSet, the InferenceService or a role",
    ),
    "FI875": Code(
        "error",
        "a role sets replicas, and an autoscaler scales it",
        "remove replicas from the role, or delete the autoscaler; after one that is no "
        "HorizontalPodAutoscaler, run kubectl scale once",
        "a HorizontalPodAutoscaler, KEDA or another program scales the LeaderWorkerSet; the controller "
        "leaves replicas to it",
    ),
    "FI876": Code(
        "error",
        "an object of the service is changed again after each repair",
        "find the field manager with kubectl get --show-managed-fields, and stop it",
        "a policy, a GitOps tool or another controller writes fields that the service sets otherwise",
    ),
    "FI878": Code(
        "error",
        "two autoscalers scale one role",
        "delete the autoscaler in the message, or remove scaling from the role",
        "the role has scaling, and another HorizontalPodAutoscaler or ScaledObject has the same target; "
        "Kubernetes scales by neither (AmbiguousSelector)",
    ),
    "FI879": Code(
        "warning",
        "the autoscaler of a role does not scale",
        "read the cause in the message; kubectl describe hpa shows its conditions",
        "the metrics API is missing or has no value yet, or the pods request none of the resource",
    ),
    "FI880": Code(
        "warning",
        "the controller cannot list a kind that the service needs",
        "grant the controller the permission in the message, or repair the API that serves the kind",
        "the controller has no permission to list the kind, or the API server does not answer for it",
    ),
    "FI881": Code(
        "error",
        "the controller cannot read an object",
        "delete the object, or remove what the message names; until then its service is left as it is",
        "it is nested deeper than 254 levels or over a limit of docs/webhook.md, and was not validated",
    ),
}
