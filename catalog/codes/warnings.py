"""Warnings about one LeaderWorkerSet: it is taken, and may not do what its author expects."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
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
        "an LWS that already runs got its first annotation, or one that changes the pods, "
        "or lost fusioninfer.io/inject: disabled",
    ),
    "FI521": Code(
        "warning",
        "what was added is taken off, the groups restart",
        "expected: its pod template changes back",
        "the annotation of the service was removed",
    ),
    "FI522": Code(
        "warning",
        "annotated, but not expanded",
        "set fusioninfer.io/refresh to have it expanded",
        "the object has no record (it is older than the webhook, or its record was removed), "
        "and this write changes nothing of it",
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
        "name it in fusioninfer.io/launcher, or describe the image in the settings (docs/launchers.md)",
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
    "FI530": Code(
        "warning",
        "the record was taken away, and what was added stays",
        "to have it off, put your own file in place of the object: kubectl replace",
        "all annotations of ours went in one write, fusioninfer.io/expansion too",
    ),
    "FI531": Code(
        "warning",
        "the image cannot run the launcher that comes first, so another one is taken",
        "expected; to say so, or otherwise, write fusioninfer.io/launcher: auto, or a launcher",
        "releases differ: few stock images of vLLM have a Ray with symmetric-run",
    ),
    "FI532": Code(
        "warning",
        "the image is known to run no launcher that fits the command, which is left as it is",
        "use another image, change the flag that asks for an executor, or name a launcher to force it",
        "the flags ask for Ray and the image has none, or the image holds another engine",
    ),
    "FI535": Code(
        "warning",
        "a record that could not be read was removed",
        "nothing restarts; to have it expanded by this release, kubectl replace it with your own file: "
        "apply would leave what was added beside it",
        "the record was edited by hand or is of a later release, and was removed as FI901 advises",
    ),
    "FI536": Code(
        "warning",
        "an argument is not taken for the model",
        "remove the empty argument, and write the model as --model NAME, before any --",
        "an argument is empty (often a template without its value), or stands behind a --",
    ),
    "FI537": Code(
        "warning",
        "a resource is not known as an accelerator",
        "check the parallel sizes yourself; nothing is wrong if the engine runs on that device",
        "the engine asks for an extended resource of another vendor, which cannot be counted",
    ),
    "FI538": Code(
        "warning",
        "the engine asks for no accelerator",
        "nothing, if it runs on CPU; else request one in resources.limits",
        "the engine runs on CPU, or the request was left out, which this image does not tell",
    ),
    "FI539": Code(
        "warning",
        "a prefiller or decoder hands no KV cache over",
        "add --kv-transfer-config with a kv_connector and a kv_role",
        "the engine is one side of a hand-over by its component type, and its flags name no connector",
    ),
    "FI540": Code(
        "warning",
        "the roles name only one side of the hand-over",
        "name every role of the service in fusioninfer.io/roles, or remove it",
        "the roles that must exist are all there without a prefiller, or without a decoder",
    ),
    "FI541": Code(
        "warning",
        "data-parallel ranks start on the leader only",
        "add --data-parallel-backend ray and the --data-parallel-size-local that the message names",
        "vLLM's default backend starts every rank on the leader, and each needs an accelerator there",
    ),
}
