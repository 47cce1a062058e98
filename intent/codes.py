"""The table of codes: what each finding means, what causes it, what to do. A code never changes its meaning.

The first digit says what it is about: 1 annotations and shape, 2 gang, 3 launch, 4 the service as a whole,
5 warnings, 7 the InferenceService, 8 routes, 9 the webhook itself; 6 are the rules of `webhook.mutate.rules`.
"""

from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Code:
    """One row."""

    severity: Severity
    title: str
    """What it means."""
    remedy: str
    cause: str = ""
    """How it comes about, in a sentence."""


CODES: Final[dict[str, Code]] = {
    "FI101": Code(
        "error",
        "the name of the service is not a DNS-1035 label",
        "use lower-case letters, digits and '-', starting with a letter, at most 63 characters",
    ),
    "FI102": Code(
        "error",
        "unknown annotation under fusioninfer.io/",
        "use one of the documented keys; the message names the nearest",
    ),
    "FI103": Code(
        "error",
        "annotations of ours without a service",
        "add fusioninfer.io/service, or remove the other keys",
    ),
    "FI104": Code(
        "error",
        "an annotation has a value outside its set",
        "use one of the values that the message lists",
    ),
    "FI105": Code(
        "error",
        "a role name is not a DNS-1123 label",
        "use lower-case letters, digits and '-', at most 63 characters",
    ),
    "FI106": Code(
        "error",
        "the list of roles cannot be read",
        "write role names separated by commas, each once",
    ),
    "FI107": Code(
        "error",
        "a reserved label has another value than ours",
        "remove the label, or change the annotation it is made from",
    ),
    "FI108": Code(
        "error",
        "a field has the wrong shape",
        "write what the LeaderWorkerSet API defines there",
    ),
    "FI109": Code(
        "error",
        "a name is too long for what is made from it",
        "shorten the name to the limit in the message",
    ),
    "FI201": Code(
        "error",
        "startupPolicy LeaderReady deadlocks a gang",
        "use LeaderCreated: the workers must exist before the leader can be ready",
    ),
    "FI202": Code(
        "error",
        "exclusive-topology deadlocks a gang",
        "remove the annotation: LWS makes workers once the leader is scheduled, the gang waits for all",
    ),
    "FI203": Code(
        "error",
        "spec.scheduling makes a gang of its own",
        "remove spec.scheduling, or take the object out with fusioninfer.io/inject: disabled",
    ),
    "FI204": Code(
        "error",
        "Kueue manages this object",
        "remove kueue.x-k8s.io/queue-name, or set fusioninfer.io/scheduler-name: default-scheduler",
    ),
    "FI205": Code(
        "error",
        "schedulerName is not the gang's scheduler",
        "remove schedulerName, or name that scheduler in fusioninfer.io/scheduler-name",
    ),
    "FI206": Code(
        "error",
        "the pod group is not the service's",
        "remove the annotation scheduling.k8s.io/group-name from the template",
    ),
    "FI207": Code(
        "error",
        "the task name is not the role's",
        "remove the annotation volcano.sh/task-spec from the template",
    ),
    "FI208": Code(
        "error",
        "a worker stands alone, it cannot wait for other roles",
        "remove fusioninfer.io/roles",
    ),
    "FI301": Code(
        "error",
        "more than one container may be the engine",
        "name it in fusioninfer.io/engine-container",
    ),
    "FI302": Code(
        "error",
        "the named engine container does not exist",
        "use the name of a container in the template",
    ),
    "FI303": Code(
        "error",
        "the engine of a multi-node group asks for no accelerator",
        "request one in resources.limits, or set fusioninfer.io/launcher: none",
    ),
    "FI304": Code(
        "error",
        "a parallel size is not a positive integer",
        "write a whole number of at least 1",
    ),
    "FI305": Code(
        "error",
        "a flag has no value",
        "write the value as the next list item, or after '='",
    ),
    "FI306": Code(
        "error",
        "there is no model to serve",
        "add --model NAME, or a --config file that names it",
    ),
    "FI307": Code(
        "error",
        "the engine needs more accelerators than the group has",
        "lower the parallel sizes, or raise spec.leaderWorkerTemplate.size",
    ),
    "FI308": Code(
        "error",
        "the engine needs more accelerators than the pod has",
        "lower the parallel sizes, or request more accelerators",
    ),
    "FI309": Code(
        "error",
        "one list item holds a flag and its value",
        "split it into two list items",
    ),
    "FI310": Code(
        "error",
        "a short flag is fused with its value",
        "write the value as the next list item",
    ),
    "FI311": Code(
        "error",
        "the API port collides with a port of the launcher",
        "choose another --port",
    ),
    "FI312": Code(
        "error",
        "a multi-node launcher was asked for a group of one",
        "remove fusioninfer.io/launcher, or raise size to 2 or more",
    ),
    "FI313": Code(
        "error",
        "the executor of vLLM does not fit the launcher",
        "remove --distributed-executor-backend, or name the launcher that fits it",
    ),
    "FI314": Code(
        "error",
        "the hand-over of the KV cache cannot be read",
        "write --kv-transfer-config as a JSON object with kv_connector and kv_role",
    ),
    "FI315": Code(
        "error",
        "the KV role contradicts the component type",
        "a prefiller produces, a decoder consumes; kv_both fits both",
    ),
    "FI316": Code(
        "error",
        "the ranks do not spread evenly over the pods",
        "make the product of the parallel sizes a multiple of the group's size, and fit each pod",
    ),
    "FI401": Code(
        "error",
        "two members have the same role name",
        "give each LeaderWorkerSet of the service its own fusioninfer.io/role-name",
    ),
    "FI402": Code(
        "error",
        "a worker does not stand alone",
        "a service is one worker, or prefillers and decoders",
    ),
    "FI404": Code(
        "error",
        "members disagree on the scheduler",
        "give all members the same fusioninfer.io/scheduler-name",
    ),
    "FI405": Code(
        "error",
        "members disagree on the queue",
        "give all members the same scheduling.volcano.sh/queue-name",
    ),
    "FI406": Code(
        "error",
        "members disagree on the roles",
        "write the same fusioninfer.io/roles on every member that has it",
    ),
    "FI407": Code(
        "error",
        "a PodGroup of that name belongs to somebody else",
        "delete that PodGroup, or rename the service",
    ),
    "FI408": Code(
        "error",
        "Volcano is too old for this gang",
        "install Volcano 1.14.1 or later, with its CRDs",
    ),
    "FI409": Code(
        "error",
        "LeaderWorkerSet's own gang scheduling is on",
        "remove gangSchedulingManagement from the configuration of LWS",
    ),
    "FI410": Code(
        "warning",
        "the service waits for a role",
        "apply the LeaderWorkerSet of the role that is missing",
    ),
    "FI411": Code(
        "error",
        "the API server refuses the PodGroup",
        "the message says why; often the queue does not exist or is closed",
    ),
    "FI412": Code(
        "error",
        "a container of the service keeps failing",
        "read how it ended: kubectl logs POD --all-containers --previous",
        "The engine ends by itself: a wrong flag, too little memory, a model that it cannot load.",
    ),
    "FI413": Code(
        "error",
        "an image of the service cannot be pulled",
        "correct the name of the image, or give the pods a pull secret",
        "The image does not exist, or the node may not read it.",
    ),
    "FI414": Code(
        "error",
        "a container of the service cannot be made",
        "create what the message names: kubectl describe pod POD",
        "A Secret, ConfigMap or key that the container refers to does not exist.",
    ),
    "FI501": Code(
        "warning",
        "accelerators of the group stay idle",
        "raise the parallel sizes, for example pipeline by nodes and tensor by accelerators of a node",
    ),
    "FI502": Code(
        "warning",
        "tensor parallelism crosses nodes",
        "use tensor parallelism inside a node and pipeline parallelism between nodes",
    ),
    "FI503": Code(
        "warning",
        "the model is known not to load with these sizes",
        "use the sizes that the message names",
    ),
    "FI504": Code(
        "warning",
        "the image is not known to run this launcher",
        "use an image that has what the launcher needs, or the launcher that the message names",
    ),
    "FI505": Code(
        "warning",
        "a probe does not fit a multi-node group",
        "probe the API port of the leader, behind a start-up probe",
    ),
    "FI506": Code(
        "warning",
        "the connector is not in this version of vLLM",
        "use a connector that it has, or name your own in kv_connector_module_path",
    ),
    "FI507": Code(
        "warning",
        "the hand-over of the KV cache has settings of another version",
        "remove or replace what the message names",
    ),
    "FI508": Code(
        "warning",
        "the connector does not work with these sizes or ports",
        "change what the message names, on the prefiller and on the decoder",
    ),
    "FI509": Code(
        "warning",
        "the API is not reachable from other pods",
        "add --host 0.0.0.0",
    ),
    "FI510": Code(
        "warning",
        "the pod does not fit a launch over several pods",
        "change the field that the message names",
    ),
    "FI511": Code(
        "warning",
        "not every flag can be checked",
        "check the sizes yourself: some flags come from elsewhere",
    ),
    "FI512": Code(
        "warning",
        "a number in the command is not the size of the group",
        "make it equal to spec.leaderWorkerTemplate.size",
    ),
    "FI513": Code(
        "warning",
        "leader and worker differ where they should not",
        "give both templates the same image and environment",
    ),
    "FI514": Code(
        "warning",
        "the shell command is too complex to rewrite",
        "write the engine's command as list items, or launch the nodes yourself",
    ),
    "FI515": Code(
        "warning",
        "the model is given twice",
        "keep one; the last one wins",
    ),
    "FI516": Code(
        "warning",
        "args start with the program itself",
        "move it to command: the image's entrypoint takes args only",
    ),
    "FI517": Code(
        "warning",
        "the entrypoint of the image is not known",
        "write the command, for example [vllm, serve]",
    ),
    "FI518": Code(
        "warning",
        "the command already starts a distributed engine",
        "left as it is; remove the launch to have it made for you",
    ),
    "FI519": Code(
        "warning",
        "this launcher does not start this engine",
        "name another launcher; else it runs one node unless its own flags say otherwise",
    ),
    "FI520": Code(
        "warning",
        "the groups of this LeaderWorkerSet restart",
        "expected: its pod template changes",
    ),
    "FI521": Code(
        "warning",
        "what was added is taken off, the groups restart",
        "expected: its pod template changes back",
    ),
    "FI522": Code(
        "warning",
        "annotated before the webhook was there",
        "set fusioninfer.io/refresh to have it expanded",
    ),
    "FI523": Code(
        "warning",
        "the launch was edited by hand and is left alone",
        "remove command and args and apply your own again to have it made for you",
    ),
    "FI524": Code(
        "warning",
        "leader and worker are not launched the same way",
        "let both be written for you, or neither",
    ),
    "FI525": Code(
        "warning",
        "the image's own entrypoint ignores a positional model",
        "write it as --model NAME",
    ),
    "FI526": Code(
        "warning",
        "the launcher cannot write this command",
        "start the engine as vllm serve, in list items, or name another launcher",
    ),
    "FI527": Code(
        "warning",
        "the launcher could not be chosen by the image",
        "name it in fusioninfer.io/launcher, or describe the image in the settings",
    ),
    "FI701": Code(
        "error",
        "a field of the InferenceService is missing, or has the wrong shape",
        "write what docs/inferenceservice.md says of the field",
        "the API server refuses it by the schema of the resource; on files there is only this check",
    ),
    "FI702": Code(
        "error",
        "unknown field of the InferenceService",
        "use the name that the message gives",
        "a field is misspelt, or stands at the wrong depth; the API server would drop it without a word",
    ),
    "FI703": Code(
        "error",
        "the roles do not make a service",
        "write one worker, or at least one prefiller and one decoder",
        "a worker has company, or prefill or decode is missing",
    ),
    "FI704": Code(
        "error",
        "more than one router",
        "keep one role with componentType: router",
        "a service has one way in: one picker, one InferencePool",
    ),
    "FI705": Code(
        "error",
        "a name is used twice",
        "give each role its own name, beside a router not epp",
        "a role's LeaderWorkerSet, its status and the Service of its pods are named after it",
    ),
    "FI706": Code(
        "error",
        "a field does not belong to this type of component",
        "remove the field, or move it to the role that it is meant for",
        "routes are asked for on the router, pods on workers, prefillers and decoders",
    ),
    "FI707": Code(
        "error",
        "a strategy for prefill and decode, and no such roles",
        "choose another strategy, or split the engine into a prefiller and a decoder",
        "the router says pd-disaggregation, and the service is one worker",
    ),
    "FI708": Code(
        "error",
        "a field and its earlier name disagree",
        "remove the earlier name",
        "roleReplicas or podReplicas stands beside replicas or multinode, with another number",
    ),
    "FI709": Code(
        "error",
        "an annotation that the InferenceService has a field for",
        "remove the annotation, and write the field that the message names",
        "an annotation of a LeaderWorkerSet was written on an InferenceService, or on the template of a role",
    ),
    "FI750": Code(
        "warning",
        "an earlier name of a field",
        "write the name that the message gives",
        "roleReplicas and podReplicas are from an earlier design; they are still taken",
    ),
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
        "a gateway or hostnames stand there without what they would lead to",
    ),
    "FI804": Code(
        "error",
        "there is a strategy and a configuration of your own",
        "remove fusioninfer.io/strategy or fusioninfer.io/endpoint-picker-config",
        "both say how endpoints are picked",
    ),
    "FI805": Code(
        "error",
        "the configured picker cannot do what is asked for",
        "let an operator set the picker that the message names",
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
        "write one map, as YAML or JSON, of at most 16384 characters",
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
        "pickers decode their configuration strictly",
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
        "use the type that the message names, or let an operator choose another picker",
        "plugins come and go between generations",
    ),
    "FI815": Code(
        "error",
        "a profile refers to a plugin that is not declared",
        "declare it under plugins, or correct the name",
        "the name of a pluginRef is none of the plugins",
    ),
    "FI816": Code(
        "error",
        "the scheduling profiles do not fit together",
        "give each profile a name, and several profiles one handler that knows them",
        "single-profile-handler, which is the default, runs one profile",
    ),
    "FI817": Code(
        "error",
        "a parameter of a plugin stops the picker",
        "write what the message names instead",
        "the parameter was renamed, and its old name is refused",
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
        "install FusionInfer's webhook configurations, and see that they match its namespace",
        "the answer of a dry run carries no record of an expansion",
    ),
    "FI901": Code(
        "error",
        "the record of what was added cannot be read",
        "remove the annotation fusioninfer.io/expansion and apply again",
    ),
    "FI902": Code(
        "error",
        "the mutating webhook did not run",
        "check MutatingWebhookConfiguration mutate.fusioninfer.io, then apply again",
    ),
    "FI903": Code(
        "error",
        "the annotations have no room for the record",
        "remove other annotations; all together may hold 256 KiB",
    ),
}
