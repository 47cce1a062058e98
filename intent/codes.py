"""The table of codes: what each finding means, what to do, what causes it. A code never changes its meaning.

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
    cause: str
    """How a person comes into this situation."""


CODES: Final[dict[str, Code]] = {
    "FI101": Code(
        "error",
        "the name of the service is not a DNS-1035 label",
        "use lower-case letters, digits and '-', starting with a letter, at most 63 characters",
        "the name came from elsewhere, with capitals, dots or underscores",
    ),
    "FI102": Code(
        "error",
        "unknown annotation under fusioninfer.io/",
        "use one of the documented keys; the message names the nearest",
        "a slip of the pen, or a key of another release",
    ),
    "FI103": Code(
        "error",
        "annotations of ours without a service",
        "add fusioninfer.io/service, or remove the other keys",
        "the opt-in was taken away or mistyped, and the other keys stayed",
    ),
    "FI104": Code(
        "error",
        "an annotation has a value outside its set",
        "use one of the values that the message lists",
        "a slip of the pen, or a value of another release",
    ),
    "FI105": Code(
        "error",
        "a role name is not a DNS-1123 label",
        "use lower-case letters, digits and '-', at most 63 characters",
        "the name came from elsewhere, with capitals, dots or underscores",
    ),
    "FI106": Code(
        "error",
        "the list of roles cannot be read",
        "write role names separated by commas, each once",
        "a role stands there twice, or an entry between two commas is empty",
    ),
    "FI107": Code(
        "error",
        "a reserved label has another value than ours",
        "remove the label, or change the annotation it is made from",
        "the object was copied from one that is already labelled, or a label was set by hand",
    ),
    "FI108": Code(
        "error",
        "a field has the wrong shape",
        "write what the LeaderWorkerSet API defines there",
        "a list stands where a string belongs, a number is in quotes, or a required field is missing",
    ),
    "FI109": Code(
        "error",
        "a name is too long for what is made from it",
        "shorten the name to the limit in the message",
        "pods carry the name in labels of at most 63 characters, together with group and revision",
    ),
    "FI201": Code(
        "error",
        "startupPolicy LeaderReady deadlocks a gang",
        "use LeaderCreated: the workers must exist before the leader can be ready",
        "LeaderReady keeps the workers back until a leader is ready that cannot be without them",
    ),
    "FI202": Code(
        "error",
        "exclusive-topology deadlocks a gang",
        "remove the annotation: LWS makes workers once the leader is scheduled, the gang waits for all",
        "LWS makes the workers once the leader is scheduled; the gang schedules nobody before all are there",
    ),
    "FI203": Code(
        "error",
        "spec.scheduling makes a gang of its own",
        "remove spec.scheduling, or take the object out with fusioninfer.io/inject: disabled",
        "LWS was told to make PodGroups itself, one a group, which know nothing of the other roles",
    ),
    "FI204": Code(
        "error",
        "Kueue manages this object",
        "remove kueue.x-k8s.io/queue-name, or set fusioninfer.io/scheduler-name: default-scheduler",
        "the object has a queue of Kueue, which admits each LeaderWorkerSet by itself",
    ),
    "FI205": Code(
        "error",
        "schedulerName is not the gang's scheduler",
        "remove schedulerName, or name that scheduler in fusioninfer.io/scheduler-name",
        "the template names a scheduler of its own, which does not know the gang",
    ),
    "FI206": Code(
        "error",
        "the pod group is not the service's",
        "remove the annotation scheduling.k8s.io/group-name from the template",
        "the template was copied from another service, or was written for Volcano by hand",
    ),
    "FI207": Code(
        "error",
        "the task name is not the role's",
        "remove the annotation volcano.sh/task-spec from the template",
        "the template was copied from another role, or was written for Volcano by hand",
    ),
    "FI208": Code(
        "error",
        "a worker stands alone, it cannot wait for other roles",
        "remove fusioninfer.io/roles",
        "a component of type worker names other roles; often the component type is missing",
    ),
    "FI301": Code(
        "error",
        "more than one container may be the engine",
        "name it in fusioninfer.io/engine-container",
        "several containers ask for accelerators, or none is recognised as an engine",
    ),
    "FI302": Code(
        "error",
        "the named engine container does not exist",
        "use the name of a container in the template",
        "the annotation has another name than the container, or the container was renamed",
    ),
    "FI303": Code(
        "error",
        "the engine of a multi-node group asks for no accelerator",
        "request one in resources.limits, or set fusioninfer.io/launcher: none",
        "the request stands on another container, or was left out",
    ),
    "FI304": Code(
        "error",
        "a parallel size is not a positive integer",
        "write a whole number of at least 1",
        "the value is zero, negative, a fraction or a word, or a variable that holds one",
    ),
    "FI305": Code(
        "error",
        "a flag has no value",
        "write the value as the next list item, or after '='",
        "the value was forgotten, or the next item is already another flag",
    ),
    "FI306": Code(
        "error",
        "there is no model to serve",
        "add --model NAME, or a --config file that names it",
        "the model was left out, or this image's entrypoint does not take it where it stands",
    ),
    "FI307": Code(
        "error",
        "the engine needs more accelerators than the group has",
        "lower the parallel sizes, or raise spec.leaderWorkerTemplate.size",
        "the parallel sizes multiply to more than the pods of one group ask for together",
    ),
    "FI308": Code(
        "error",
        "the engine needs more accelerators than the pod has",
        "lower the parallel sizes, or request more accelerators",
        "the parallel sizes multiply to more than the one pod asks for",
    ),
    "FI309": Code(
        "error",
        "one list item holds a flag and its value",
        "split it into two list items",
        "the line was copied from a shell, which splits at blanks; a list item is handed on whole",
    ),
    "FI310": Code(
        "error",
        "a short flag is fused with its value",
        "write the value as the next list item",
        "vLLM's short flags of several letters take no value without a blank or '='",
    ),
    "FI311": Code(
        "error",
        "the API port collides with a port of the launcher",
        "choose another --port",
        "the port was chosen freely, and the pods of a group already meet on it",
    ),
    "FI312": Code(
        "error",
        "a multi-node launcher was asked for a group of one",
        "remove fusioninfer.io/launcher, or raise size to 2 or more",
        "the size is 1 or was left out, so there is nobody to launch beside the leader",
    ),
    "FI313": Code(
        "error",
        "the executor of vLLM does not fit the launcher",
        "remove --distributed-executor-backend, or name the launcher that fits it",
        "the flag was copied from a launch of another kind: Ray and vLLM's own processes exclude each other",
    ),
    "FI314": Code(
        "error",
        "the hand-over of the KV cache cannot be read",
        "write --kv-transfer-config as a JSON object with kv_connector and kv_role",
        "quotes got lost on the way through a shell or YAML, or kv_role is missing",
    ),
    "FI315": Code(
        "error",
        "the KV role contradicts the component type",
        "a prefiller produces, a decoder consumes; kv_both fits both",
        "prefiller and decoder were copied from each other, or the component type is missing",
    ),
    "FI316": Code(
        "error",
        "the ranks do not spread evenly over the pods",
        "make the product of the parallel sizes a multiple of the group's size, and fit each pod",
        "these engines run as many ranks on every pod, which these sizes do not allow",
    ),
    "FI317": Code(
        "error",
        "the KV connector needs vLLM's V1 core",
        "remove VLLM_USE_V1, or use a connector of V0 that this version has",
        "VLLM_USE_V1=0 was copied from an older example, and the connector from a newer one",
    ),
    "FI401": Code(
        "error",
        "two members have the same role name",
        "give each LeaderWorkerSet of the service its own fusioninfer.io/role-name",
        "two LeaderWorkerSets of one component type share the default role name, or one was copied",
    ),
    "FI402": Code(
        "error",
        "a worker does not stand alone",
        "a service is one worker, or prefillers and decoders",
        "a component type is missing, so that a member counts as a worker, or two services share a name",
    ),
    "FI404": Code(
        "error",
        "members disagree on the scheduler",
        "give all members the same fusioninfer.io/scheduler-name",
        "the annotation was set on some members only, or differs",
    ),
    "FI405": Code(
        "error",
        "members disagree on the queue",
        "give all members the same scheduling.volcano.sh/queue-name",
        "the annotation was set on some members only, or differs",
    ),
    "FI406": Code(
        "error",
        "members disagree on the roles",
        "write the same fusioninfer.io/roles on every member that has it",
        "a role was added to some members only, or is spelled differently",
    ),
    "FI407": Code(
        "error",
        "a PodGroup of that name belongs to somebody else",
        "delete that PodGroup, or rename the service",
        "somebody made a PodGroup by hand, or another controller did, under the name of the service",
    ),
    "FI408": Code(
        "error",
        "Volcano is too old for this gang",
        "install Volcano 1.14.1 or later, with its CRDs",
        "this Volcano, or its CRD, drops subGroupPolicy, without which whole groups cannot be told apart",
    ),
    "FI409": Code(
        "error",
        "LeaderWorkerSet's own gang scheduling is on",
        "remove gangSchedulingManagement from the configuration of LWS",
        "LWS is configured to make PodGroups itself, and puts every pod into those",
    ),
    "FI410": Code(
        "warning",
        "the service waits for a role",
        "apply the LeaderWorkerSet of the role that is missing",
        "not all members have been applied yet, or one that the roles name does not exist",
    ),
    "FI411": Code(
        "error",
        "the API server refuses the PodGroup",
        "the message says why; often the queue does not exist or is closed",
        "the queue is missing or closed, a policy or a webhook refuses it, or the loop may not write it",
    ),
    "FI412": Code(
        "warning",
        "prefillers and decoders split the model in a way that their connector cannot bridge",
        "give both the tensor parallel size that the message names, or use a newer vLLM",
        "the roles were sized each for its own work, and one has more parts than the other",
    ),
    "FI501": Code(
        "warning",
        "accelerators of the group stay idle",
        "raise the parallel sizes, for example pipeline by nodes and tensor by accelerators of a node",
        "the parallel sizes multiply to less than the pods of one group ask for together",
    ),
    "FI502": Code(
        "warning",
        "tensor parallelism crosses nodes",
        "use tensor parallelism inside a node and pipeline parallelism between nodes",
        "all accelerators were put into one tensor parallel size, and the network is slower than a node",
    ),
    "FI503": Code(
        "warning",
        "the model is known not to load with these sizes",
        "use the sizes that the message names",
        "tensor parallelism splits what this model does not have in that many equal parts",
    ),
    "FI504": Code(
        "warning",
        "the image is not known to run this launcher",
        "use an image that has what the launcher needs, or the launcher that the message names",
        "releases differ: Ray left the stock images of vLLM, and multi-node flags came late",
    ),
    "FI505": Code(
        "warning",
        "a probe does not fit a multi-node group",
        "probe the API port of the leader, behind a start-up probe",
        "the probe was written for one pod: workers serve no API, and models load for minutes",
    ),
    "FI506": Code(
        "warning",
        "the connector is not in this version of vLLM",
        "use a connector that it has, or name your own in kv_connector_module_path",
        "connectors come and go with releases of vLLM; the example was for another one",
    ),
    "FI507": Code(
        "warning",
        "the hand-over of the KV cache has settings of another version",
        "remove or replace what the message names",
        "the settings were written for another release of vLLM",
    ),
    "FI508": Code(
        "warning",
        "the connector does not work with these sizes or ports",
        "change what the message names, on the prefiller and on the decoder",
        "the two sides must find each other and split the cache alike; the defaults are for one machine",
    ),
    "FI509": Code(
        "warning",
        "the API is not reachable from other pods",
        "add --host 0.0.0.0",
        "the engine's default, or the flag, is the pod's own loopback address",
    ),
    "FI510": Code(
        "warning",
        "the pod does not fit a launch over several pods",
        "change the field that the message names",
        "the pod was written to run alone, not as one of several that are one engine",
    ),
    "FI511": Code(
        "warning",
        "not every flag can be checked",
        "check the sizes yourself: some flags come from elsewhere",
        "a size stands in a file, in a variable of the cluster, or in flags that change its meaning",
    ),
    "FI512": Code(
        "warning",
        "a number in the command is not the size of the group",
        "make it equal to spec.leaderWorkerTemplate.size",
        "the size was changed later, or the number was copied from another example",
    ),
    "FI513": Code(
        "warning",
        "leader and worker differ where they should not",
        "give both templates the same image and environment",
        "one of the two templates was changed, and the other one was not",
    ),
    "FI514": Code(
        "warning",
        "the shell command is too complex to rewrite",
        "write the engine's command as list items, or launch the nodes yourself",
        "the engine stands in a loop, a function, an eval or the background, or twice, or not at all",
    ),
    "FI515": Code(
        "warning",
        "the model is given twice",
        "keep one; the last one wins",
        "the model stands in the positional place and behind --model, or an overlay added it again",
    ),
    "FI516": Code(
        "warning",
        "args start with the program itself",
        "move it to command: the image's entrypoint takes args only",
        "the line was copied from a shell; args alone are handed to the image's entrypoint",
    ),
    "FI517": Code(
        "warning",
        "the entrypoint of the image is not known",
        "write the command, for example [vllm, serve]",
        "the image is not a stock one, and there is no command that names an engine",
    ),
    "FI518": Code(
        "warning",
        "the command already starts a distributed engine",
        "left as it is; remove the launch to have it made for you",
        "the example came from a guide that starts the nodes itself",
    ),
    "FI519": Code(
        "warning",
        "this launcher does not start this engine",
        "name another launcher; else it runs one node unless its own flags say otherwise",
        "the launcher belongs to another engine, or the engine is launched by request only, or never",
    ),
    "FI520": Code(
        "warning",
        "the groups of this LeaderWorkerSet restart",
        "expected: its pod template changes",
        "an LWS that already runs got its first annotation, or one that changes the pods",
    ),
    "FI521": Code(
        "warning",
        "what was added is taken off, the groups restart",
        "expected: its pod template changes back",
        "the annotation of the service was removed",
    ),
    "FI522": Code(
        "warning",
        "annotated before the webhook was there",
        "set fusioninfer.io/refresh to have it expanded",
        "the object is older than the webhook, and whoever wrote it now changed nothing of it",
    ),
    "FI523": Code(
        "warning",
        "the launch was edited by hand and is left alone",
        "remove command and args and apply your own again to have it made for you",
        "somebody edited command or args of the expanded object",
    ),
    "FI524": Code(
        "warning",
        "leader and worker are not launched the same way",
        "let both be written for you, or neither",
        "one template launches its pods itself, or is not understood, and the other one is plain",
    ),
    "FI525": Code(
        "warning",
        "the image's own entrypoint ignores a positional model",
        "write it as --model NAME",
        "up to vLLM 0.11.0 the image's entrypoint takes the model from --model alone",
    ),
    "FI526": Code(
        "warning",
        "the launcher cannot write this command",
        "start the engine as vllm serve, in list items, or name another launcher",
        "this launcher needs words that the command, as it is started, has no place for",
    ),
    "FI527": Code(
        "warning",
        "the launcher could not be chosen by the image",
        "name it in fusioninfer.io/launcher, or describe the image in the settings",
        "the image is not a stock one, or its tag tells no version: latest, or a digest alone",
    ),
    "FI528": Code(
        "warning",
        "the engine asks for no CPU or no memory",
        "request both in resources.requests, or set limits",
        "only the accelerators were thought of; schedulers then place the pods where either may be short",
    ),
    "FI529": Code(
        "warning",
        "the API port is one that the launch may take itself",
        "choose another --port; 8000 is free",
        "Ray and torch take ports of their own on every pod, some of them at random in a range",
    ),
    "FI901": Code(
        "error",
        "the record of what was added cannot be read",
        "remove the annotation fusioninfer.io/expansion and apply again",
        "the annotation was edited or cut off, or is of a later release",
    ),
    "FI902": Code(
        "error",
        "the mutating webhook did not run",
        "check MutatingWebhookConfiguration mutate.fusioninfer.io, then apply again",
        "the webhook was not there when the object was written, or its configuration does not match it",
    ),
    "FI903": Code(
        "error",
        "the annotations have no room for the record",
        "remove other annotations; all together may hold 256 KiB",
        "Kubernetes allows 256 KiB of annotations on one object, and others take most of it",
    ),
}
