"""Findings about routes (801 to 849), the routing sidecar (850 to 869), the controller (from 870)."""

from typing import Final

from catalog.codes.code import Code, Error, Warn

ROWS: Final[dict[str, Code]] = {
    "FI801": Error(
        "a strategy for prefill and decode without a prefiller and a decoder",
        "choose another strategy, or split the engine into a prefiller and a decoder",
        event="NothingToDisaggregate",
    ),
    "FI802": Warn(
        "the strategy ignores prefill and decode",
        "use strategy: pd-disaggregation, or bring an endpoint-picker-config",
        event="RolesRoutedAlike",
    ),
    "FI803": Error(
        "an annotation about routes has no effect",
        "add what the message names, or remove the annotation",
        event="RouteWithoutEffect",
    ),
    "FI804": Error(
        "a strategy together with an EndpointPickerConfig",
        "remove fusioninfer.io/strategy or fusioninfer.io/endpoint-picker-config",
        event="StrategyAndConfig",
    ),
    "FI805": Error(
        "the endpoint picker does not support prefill and decode",
        "set fusioninfer.io/picker to one in the message, or disaggregatedPicker in the settings",
        event="PickerCannotDisaggregate",
    ),
    "FI806": Error(
        "members disagree about routes",
        "set the annotation to the same value on every member, or on one only",
        event="RoutesDisagree",
    ),
    "FI807": Error(
        "a decoder without the strategy for prefill and decode",
        "set fusioninfer.io/strategy: pd-disaggregation on every decoder",
        "admission sees one object at a time, so the decoder itself needs the strategy",
        event="DecoderWithoutSidecar",
    ),
    "FI808": Warn(
        "the routes wait for a role",
        "apply the LeaderWorkerSet of the missing role",
        event="RoutesWaitForRole",
    ),
    "FI809": Error(
        "members serve on different ports",
        "use the same ports on all members; a decoder's sidecar serves on the ports of its engine",
        "an InferencePool has the same ports for all of its pods",
        event="PortsDisagree",
    ),
    "FI812": Error(
        "the EndpointPickerConfig stops the endpoint picker",
        "correct what the message names, or choose another generation with fusioninfer.io/picker",
        event="PickerConfigInvalid",
    ),
    "FI821": Error(
        "a LeaderWorkerSet has the name of an endpoint picker",
        "rename the LeaderWorkerSet or the service",
        "LWS creates a Service of that name; if the endpoint picker has it, no pod finds its leader",
        event="EndpointPickerNameTaken",
    ),
    "FI823": Error(
        "a decoder's sidecar is of another generation than the endpoint picker",
        "set the same fusioninfer.io/picker on every decoder; while decoders roll, wait until the last has",
        "admission sees one object at a time, so the decoder itself needs the generation",
        event="SidecarOfAnotherPicker",
    ),
    "FI824": Warn(
        "the routes leave pods of a service without requests",
        "use the same load balancing on prefiller and decoder, or write the label in the message",
        "all pods of one member serve, not all of another, and an InferencePool selects by one label",
        event="PodsWithoutRequests",
    ),
    "FI826": Warn(
        "the endpoint picker does not start in this cluster",
        "choose the generation in the message with fusioninfer.io/picker, or install the CRD",
        "the Inference Extension lacks from 1.6 on a CRD that older endpoint pickers need to start",
        event="PickerCannotStart",
    ),
    "FI827": Error(
        "the endpoint picker ignores the InferenceObjectives of the priority",
        "create those in the message, with the poolRef SERVICE-pool (docs/routing.md, Priorities)",
        "llm-d 0.9 and later read the InferenceObjectives of their own group, where it is installed",
        event="PriorityIgnored",
    ),
    "FI830": Warn(
        "a LeaderWorkerSet has the name of the service's Service",
        "rename the LeaderWorkerSet or the service, if clients are to call SERVICE-api",
        "LWS makes a Service of the LeaderWorkerSet's name, by which its pods find their leader",
        event="ServiceNameTaken",
    ),
    "FI832": Warn(
        "the leaders behind the service's Service serve on different ports",
        "use the same --port on all workers, or on all decoders",
        "a Service has one target port; while ports differ, as in a rollout to another one, it stays",
        event="PortsDisagree",
    ),
    "FI833": Error(
        "the operator does not allow this Gateway or Ingress",
        "use a class in the message; or remove gateway, and name a shared Gateway in parentRefs",
        event="NotAllowed",
    ),
    "FI834": Error(
        "routes are switched off",
        "remove the router or the annotation, or have the operator switch routes on",
        "routes is off in the settings: what exists stays; a decoder gets its sidecar",
        event="RoutesSwitchedOff",
    ),
    "FI835": Error(
        "an Ingress without the Service that it leads to",
        "remove what the message names, or remove ingress from the router",
        event="IngressWithoutService",
    ),
    "FI836": Error(
        "the configuration of the endpoint picker is missing",
        "create the ConfigMap with the key that configRef names; the controller reads it again by itself",
        event="ConfigurationMissing",
    ),
    "FI837": Warn(
        "the configuration of the endpoint picker is not among the files",
        "pass the file with the ConfigMap too, so that the configuration is checked and the routes are shown",
        event="ConfigurationNotGiven",
    ),
    "FI840": Error(
        "the routing sidecar has no such connector",
        "use a connector in the message, or another endpoint picker (docs/routing.md)",
    ),
    "FI850": Error(
        "a container has the name of the routing sidecar",
        "remove it; or keep your own, with sidecar in fusioninfer.io/skip",
    ),
    "FI851": Warn(
        "a decoder gets no routing sidecar",
        "change what the message names; or add your own, with sidecar in fusioninfer.io/skip",
    ),
    "FI853": Warn(
        "a probe runs a command in a pod with a routing sidecar",
        "let the command call the engine's new port, or use httpGet, which is moved automatically",
        "the sidecar answers /health on the port of the API before the engine does",
    ),
    "FI870": Error(
        "the cluster lacks a kind, or fields of one, that the service needs",
        "install the CRDs in the message; what depends on it waits, the other objects are created",
        event="KindNotInstalled",
    ),
    "FI871": Error(
        "an object of that name belongs to another owner",
        "delete or rename that object, or rename the service; until then the object is not created",
        event="ObjectNotOurs",
    ),
    "FI872": Error(
        "the API server refuses an object of the service",
        "remove the cause that the message names",
        event="ObjectRefused",
    ),
    "FI873": Error(
        "a LeaderWorkerSet would be stored without expansion",
        "install the webhook configurations, check that they match the namespace, upgrade an older webhook",
        "the API server refused the write: the controller sends a label that admission must replace",
        event="NotExpanded",
    ),
    "FI874": Error(
        "a LeaderWorkerSet is left as it is, because it bypasses admission",
        "remove fusioninfer.io/inject from the object in the message",
        event="AdmissionDisabled",
    ),
    "FI875": Error(
        "a role sets replicas, and an autoscaler scales it",
        "remove replicas from the role, or delete the autoscaler; then run kubectl scale once",
        event="ScaledByAnother",
    ),
    "FI876": Error(
        "an object of the service is changed again after each repair",
        "find the field manager with kubectl get --show-managed-fields, and stop it",
        "a policy, a GitOps tool or another controller writes fields that the service sets otherwise",
        event="ChangedByAnother",
    ),
    "FI878": Error(
        "two autoscalers scale one role",
        "delete the autoscaler in the message, or remove scaling from the role",
        event="ScaledTwice",
    ),
    "FI880": Warn(
        "the controller cannot list a kind that the service needs",
        "grant the controller the permission in the message, or repair the API that serves the kind",
        event="KindUnavailable",
    ),
    "FI881": Error(
        "the controller cannot read an object",
        "delete the object, or remove what the message names; until then its service is left as it is",
        event="ObjectUnreadable",
    ),
}
