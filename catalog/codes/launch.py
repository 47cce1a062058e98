"""The launch."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
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
    "FI318": Code(
        "error",
        "SGLang's disaggregation mode contradicts the component type",
        "a prefiller has --disaggregation-mode prefill, a decoder has decode",
        "prefiller and decoder were copied from each other, or the component type is wrong",
    ),
    "FI319": Code(
        "error",
        "a pod template has no container",
        "write the container of the engine",
        "the list of containers is empty, often since a tool left them out",
    ),
    "FI320": Code(
        "error",
        "a container has the name of one that is put on",
        "rename the container, or leave the part out with fusioninfer.io/skip",
        "the container was named wait-for-leader, as an init container is that comes with a launch",
    ),
}
