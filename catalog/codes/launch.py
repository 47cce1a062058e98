"""Findings about the launch."""

from typing import Final

from catalog.codes.code import Code, Error

ROWS: Final[dict[str, Code]] = {
    "FI301": Error(
        "more than one container may be the engine",
        "name it in fusioninfer.io/engine-container",
    ),
    "FI302": Error(
        "the named engine container does not exist",
        "use the name of a container in the template",
    ),
    "FI303": Error(
        "the engine of a multi-node group requests no accelerator",
        "request one in resources.limits, or set fusioninfer.io/launcher: none",
    ),
    "FI306": Error(
        "no model is given",
        "add --model NAME, or a --config file that names it",
    ),
    "FI307": Error(
        "the engine needs more accelerators than the group has",
        "lower the parallel sizes, or raise spec.leaderWorkerTemplate.size",
    ),
    "FI308": Error(
        "the engine needs more accelerators than the pod has",
        "set spec.leaderWorkerTemplate.size, request more accelerators, or lower the parallel sizes",
    ),
    "FI309": Error(
        "one list item holds several words",
        "split it into one list item per word",
    ),
    "FI311": Error(
        "the API port is also a port of the launcher",
        "choose another --port",
    ),
    "FI313": Error(
        "the executor of vLLM does not match the launcher",
        "remove --distributed-executor-backend, or choose the launcher for that executor",
    ),
    "FI315": Error(
        "the KV role contradicts the component type",
        "use kv_producer on a prefiller and kv_consumer on a decoder; kv_both is valid on both",
    ),
    "FI316": Error(
        "the ranks cannot be distributed evenly over the pods",
        "make the product of the parallel sizes a multiple of the group's size, and fit each pod",
    ),
    "FI318": Error(
        "SGLang's disaggregation mode contradicts the component type",
        "set --disaggregation-mode prefill on a prefiller, decode on a decoder, and none on a worker",
    ),
    "FI319": Error(
        "a pod template has no container",
        "add the container of the engine",
    ),
    "FI320": Error(
        "a container has the name of an injected container",
        "rename the container, or leave the injected one out with fusioninfer.io/skip",
    ),
    "FI321": Error(
        "an init container of the author downloads another model",
        "give it the URI of fusioninfer.io/model and the path, or remove it",
    ),
    "FI323": Error(
        "the cluster is too old for a model in an image",
        "use pvc:// or s3://, or upgrade the cluster to Kubernetes 1.35",
    ),
    "FI324": Error(
        "an argument contradicts an annotation about the model",
        "remove the argument or the annotation",
    ),
    "FI328": Error(
        "several pods get the same data-parallel rank",
        "remove --data-parallel-start-rank or --data-parallel-rank: the launcher gives each pod its own",
    ),
    "FI329": Error(
        "the load balancing of data-parallel ranks is not possible",
        "use the load balancing, the sizes or the image in the message",
    ),
    "FI330": Error(
        "a field about LoRA adapters in a template reaches no service",
        "write limits beside their adapters, and the priority of an adapter into the InferenceService",
    ),
    "FI331": Error(
        "a container mounts a volume that the pod does not have",
        "add the volume to spec.volumes of the same template, or correct the name of the mount",
    ),
    "FI332": Error(
        "a container has no image",
        "write the image, or name an InferenceTemplate that has it",
    ),
    "FI333": Error(
        "the engine exits on a flag that it does not have",
        "write the flag in the message, or use a release that has it",
    ),
    "FI338": Error(
        "a container uses a resource claim that the pod does not have",
        "add the claim to spec.resourceClaims of the same template, or correct the name",
    ),
}
