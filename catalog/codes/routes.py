"""Routes (801 to 849), the sidecar of a decoder (850 to 869), and what the loop makes (from 870)."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
    "FI801": Code(
        "error",
        "a worker is asked to prefill and decode in different pods",
        "name another strategy, or make a prefiller and a decoder of it",
        "strategy: pd-disaggregation stands on a worker",
    ),
    "FI802": Code(
        "warning",
        "prefillers and decoders are routed as if they were alike",
        "use strategy: pd-disaggregation, or bring an endpoint-picker-config",
        "the strategy knows nothing of prefill and decode",
    ),
    "FI803": Code(
        "error",
        "an annotation about routes leads nowhere",
        "add what the message names, or remove the annotation",
        "a gateway, hostnames or a picker stand there without what they would lead to",
    ),
    "FI804": Code(
        "error",
        "there is a strategy and a configuration of your own",
        "remove fusioninfer.io/strategy or fusioninfer.io/endpoint-picker-config",
        "both say how endpoints are picked",
    ),
    "FI805": Code(
        "error",
        "the picker cannot do what is asked for",
        "write fusioninfer.io/picker with one that the message names, or have disaggregatedPicker set",
        "not every generation of pickers knows prefill and decode",
    ),
    "FI806": Code(
        "error",
        "members disagree about routes",
        "write the same on every member, or on one only",
        "two members have different values of the annotation that the message names",
    ),
    "FI807": Code(
        "error",
        "a decoder has no part in the hand-over",
        "write fusioninfer.io/strategy: pd-disaggregation on every decoder",
        "its review sees no other object, so the strategy has to stand on the decoder itself",
    ),
    "FI808": Code(
        "warning",
        "the routes wait for a role",
        "apply the LeaderWorkerSet of the role that is missing",
        "prefillers and decoders are routed together, and only one of them is there",
    ),
    "FI809": Code(
        "error",
        "leaders serve at different ports",
        "give the engines of all members the same --port; a decoder's sidecar takes the port of its engine",
        "a pool has one port for all of its pods",
    ),
    "FI810": Code(
        "error",
        "the EndpointPickerConfig cannot be read",
        "write one map, as YAML or JSON, of at most 8192 characters",
        "the text is no YAML, or something else than a map",
    ),
    "FI811": Code(
        "error",
        "it is no EndpointPickerConfig that the picker reads",
        "write the apiVersion and kind that the message names",
        "every generation of pickers reads one version",
    ),
    "FI812": Code(
        "error",
        "the EndpointPickerConfig has a field that stops the picker",
        "remove the field, or use the one that the message names",
        "pickers decode their configuration strictly, at any depth",
    ),
    "FI813": Code(
        "error",
        "two plugins of an EndpointPickerConfig have one name",
        "give each a name of its own",
        "a plugin without a name is named by its type",
    ),
    "FI814": Code(
        "error",
        "the picker has no plugin of that type",
        "use the type that the message names, or choose another generation with fusioninfer.io/picker",
        "plugins come and go between generations",
    ),
    "FI815": Code(
        "error",
        "a pluginRef names a plugin that is not declared",
        "declare it under plugins, or correct the name",
        "the name of a pluginRef is none of the plugins",
    ),
    "FI816": Code(
        "error",
        "the scheduling profiles do not fit together",
        "give each profile a name and at most one picker, and several profiles one handler that knows them",
        "single-profile-handler, which is the default, runs one profile",
    ),
    "FI817": Code(
        "error",
        "a parameter of a plugin stops the picker",
        "write what the message names instead",
        "the parameter was renamed, or its value is of another kind",
    ),
    "FI818": Code(
        "warning",
        "a parameter of a plugin has no effect",
        "remove it, or use the name that the message names",
        "the picker drops parameters that it does not know",
    ),
    "FI819": Code(
        "error",
        "the picker would panic on a scorer without a weight",
        "give every scorer a weight, and list the picker last",
        "older pickers stop setting default weights at the first picker",
    ),
    "FI820": Code(
        "error",
        "the picker does not know a feature gate",
        "use one of those that the message names, or none",
        "feature gates come and go between generations",
    ),
    "FI821": Code(
        "error",
        "a LeaderWorkerSet has the name of an endpoint picker",
        "rename the LeaderWorkerSet, or the service whose picker has the name",
        "LWS makes a Service of its own name; with that of the picker in its place no pod finds its leader",
    ),
    "FI822": Code(
        "warning",
        "the picker does not remember prefillers",
        "write fusioninfer.io/picker with one that the message names, or leave it to queue and cache",
        "up to llm-d 0.4 the prefix scorer learns of the decoder only; prefillers all score alike by prompt",
    ),
    "FI823": Code(
        "error",
        "a decoder's sidecar is of another generation than the picker",
        "write the same fusioninfer.io/picker on every decoder",
        "its review sees no other object, so the generation has to stand on the decoder itself",
    ),
    "FI850": Code(
        "error",
        "a container has the name of the routing sidecar",
        "remove it; or keep your own, with sidecar in fusioninfer.io/skip",
        "the author brings a routing-proxy, or edited the one that was put on",
    ),
    "FI851": Code(
        "warning",
        "a decoder gets no routing sidecar",
        "change what the message names; or bring your own, with sidecar in fusioninfer.io/skip",
        "the port of the engine's API cannot be moved, or the sidecar could not call it there",
    ),
    "FI852": Code(
        "error",
        "the API port is one of those to which the engine moves behind its sidecar",
        "write the port that others call, for example --port 8000; the engine is moved by itself",
        "args were edited after they were written for the sidecar, or somebody chose 8200 to 8299",
    ),
    "FI853": Code(
        "warning",
        "a probe runs a command beside a routing sidecar",
        "let the command call the engine's new port, or probe by httpGet, which is moved",
        "the sidecar answers /health on the port of the API before the engine does",
    ),
    "FI870": Code(
        "error",
        "the cluster lacks a kind that the service needs",
        "install the CRDs that the message names; what else the service has is made without it",
        "the API server knows no such kind, or one without a field that is needed",
    ),
    "FI871": Code(
        "error",
        "an object of that name belongs to somebody else",
        "delete or rename that object, or rename the service; ours is not made before",
        "it exists, and it was not this service for which the loop made it",
    ),
    "FI872": Code(
        "error",
        "the API server refuses an object of the service",
        "the message says why; it is tried again every half minute",
        "a quota, a policy, admission, or a right that the loop does not have",
    ),
    "FI873": Code(
        "error",
        "a LeaderWorkerSet would not be expanded",
        "install the webhook configurations, see that they match its namespace, upgrade an older webhook",
        "the API server refused the write: the controller sends a label that admission must replace",
    ),
    "FI874": Code(
        "error",
        "a LeaderWorkerSet is left as it is, because admission is told to leave it alone",
        "remove fusioninfer.io/inject from the object that the message names",
        "fusioninfer.io/inject: disabled stands on the LeaderWorkerSet, on the InferenceService or on a role",
    ),
    "FI875": Code(
        "error",
        "a role asks for replicas, and something else scales it",
        "remove replicas from the role; or remove the autoscaler, then run kubectl scale once",
        "a HorizontalPodAutoscaler is on the LeaderWorkerSet of a role that has replicas; it is left to it",
    ),
    "FI876": Code(
        "error",
        "an object of the service is changed again each time that it is put back",
        "find the field manager with kubectl get --show-managed-fields, and stop it",
        "a policy, a GitOps tool or another controller writes fields that this service asks for otherwise",
    ),
    "FI880": Code(
        "warning",
        "the controller cannot list a kind that the service needs",
        "give the controller the right that the message names, or repair what serves the kind",
        "the controller has no right to list the kind, or the API server gives no answer for it",
    ),
    "FI881": Code(
        "error",
        "an object cannot be read by the controller",
        "delete the object, or remove what the message names; until then its service is left as it is",
        "it is nested deeper than 254 levels or over a limit of docs/edge.md, and no admission checked it",
    ),
}
