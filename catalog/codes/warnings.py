"""Warnings about one LeaderWorkerSet, which is accepted and may not do what its author expects."""

from typing import Final

from catalog.codes.code import Code, Warn

ROWS: Final[dict[str, Code]] = {
    "FI501": Warn(
        "accelerators of the group stay idle",
        "raise the parallel sizes: for example pipeline = nodes, and tensor = accelerators per node",
    ),
    "FI502": Warn(
        "tensor parallelism crosses nodes",
        "use tensor parallelism inside a node and pipeline parallelism between nodes",
    ),
    "FI504": Warn(
        "the image is not known to support this launcher",
        "use an image that has what the launcher needs, or the launcher in the message",
        "stock images of vLLM no longer include Ray, and older ones lack multi-node flags",
    ),
    "FI505": Warn(
        "a probe does not fit a multi-node group",
        "probe the API port of the leader, with a startup probe",
        "the probe was written for one pod: workers serve no API, and loading a model takes minutes",
    ),
    "FI506": Warn(
        "the connector is not in this version of vLLM",
        "use a connector of this version, or name your own in kv_connector_module_path",
    ),
    "FI508": Warn(
        "the connector does not work with these sizes or ports",
        "change what the message names, on the prefiller and on the decoder",
        "both sides must reach each other and shard the cache alike; the defaults are for one machine",
    ),
    "FI509": Warn(
        "the API cannot be reached from other pods",
        "add --host 0.0.0.0, or write --port with a number",
        "the engine listens on the loopback address, by default or by its flag, or on an unknown port",
    ),
    "FI510": Warn(
        "the pod template does not suit a multi-pod launch",
        "change the field in the message",
    ),
    "FI512": Warn(
        "a number in the command differs from the size of the group",
        "make it equal to spec.leaderWorkerTemplate.size",
    ),
    "FI513": Warn(
        "leader and worker have different images or environments",
        "use the same image and environment in both templates",
    ),
    "FI514": Warn(
        "the launcher cannot rewrite this command",
        "write the engine's command as list items, or set fusioninfer.io/launcher: none",
        "a script is no plain start of one engine, or the command has no place for what the launcher adds",
    ),
    "FI515": Warn(
        "the model is given twice",
        "keep one; the last one is used",
    ),
    "FI516": Warn(
        "args start with the program itself",
        "move it to command: args are passed to the image's entrypoint",
    ),
    "FI517": Warn(
        "the entrypoint of the image is not known",
        "set command, for example [vllm, serve], or fusioninfer.io/launcher: none",
    ),
    "FI518": Warn(
        "the command already starts a distributed engine",
        "add the flag that the message names; to use a launcher of FusionInfer, remove the launch",
    ),
    "FI519": Warn(
        "this launcher does not start this engine",
        "name a launcher of the message, or set fusioninfer.io/launcher: none",
    ),
    "FI520": Warn(
        "the groups of this LeaderWorkerSet restart",
        "none needed: its pod template changes",
        "it got its first annotation or one that changes pods, or lost fusioninfer.io/inject: disabled",
    ),
    "FI521": Warn(
        "the expansion is reverted, and the groups restart",
        "none needed: its pod template changes back",
        "the annotation fusioninfer.io/service was removed",
    ),
    "FI522": Warn(
        "annotated, but not expanded",
        "set fusioninfer.io/refresh to expand it",
        "it is older than the webhook, or was changed past it, and this write changes none of its input",
    ),
    "FI523": Warn(
        "the launch was edited by hand and is left as it is",
        "to have it launched again, write your own command and args, for example with kubectl apply",
        "words that the launcher wrote were edited; an edit of your own arguments is launched again",
    ),
    "FI524": Warn(
        "leader and worker are launched in different ways",
        "use a launcher for both templates, or for neither",
    ),
    "FI527": Warn(
        "the launcher could not be chosen by the image",
        "name it in fusioninfer.io/launcher, or describe the image in the settings (docs/launchers.md)",
        "the image is not a stock one, or its tag does not contain a version: latest, or a digest alone",
    ),
    "FI530": Warn(
        "the record was removed, and the expansion stays",
        "to revert it, replace the object with your own file: kubectl replace",
        "one write removed all annotations under fusioninfer.io/, including fusioninfer.io/expansion",
    ),
    "FI532": Warn(
        "the image supports no launcher for this command, which is left as it is",
        "use another image, change the executor flag, or name a launcher to force it",
    ),
    "FI535": Warn(
        "an unreadable record was removed",
        "none needed; to expand the object again, kubectl replace it with your own file",
    ),
    "FI536": Warn(
        "an argument is not read as the model",
        "remove the empty argument, and write the model as --model NAME, before any --",
    ),
    "FI537": Warn(
        "a resource is not known to be an accelerator",
        "check the parallel sizes yourself; ignore this if the engine runs on that device",
    ),
    "FI538": Warn(
        "the engine requests no accelerator",
        "request one in resources.limits; on CPU, set VLLM_TARGET_DEVICE=cpu, for SGLang --device cpu",
    ),
    "FI539": Warn(
        "a prefiller or decoder has no KV transfer, or an encoder hands nothing on",
        "add --kv-transfer-config with a kv_connector and a kv_role; to an encoder, --ec-transfer-config",
    ),
    "FI541": Warn(
        "data-parallel ranks start on the leader only",
        "add --data-parallel-backend ray and the --data-parallel-size-local in the message",
    ),
    "FI543": Warn(
        "a flag is not one of the engine's release",
        "write the flag in the message, or use a release that has it",
    ),
    "FI544": Warn(
        "the author's own mount or variable is used for the model or an adapter",
        "remove it, to have the one that fusioninfer.io/model or fusioninfer.io/lora describes",
    ),
    "FI546": Warn(
        "the engine is not told its model, or the name under which it serves it",
        "write a plain command of a known engine, or name the model in the command",
    ),
    "FI549": Warn(
        "data-parallel ranks may not start",
        "use vLLM 0.28 or later, or a model with experts; or set fusioninfer.io/refresh if it says so",
        "from 0.14 to 0.27 vLLM takes the ranks of a dense model for engines of one pod each",
    ),
    "FI568": Warn(
        "an option of the routing sidecar has no effect",
        "follow the message, or remove the option",
    ),
    "FI569": Warn(
        "this launch hangs or ends at start in this release of the engine",
        "add the flag in the message, or use another release",
    ),
    "FI570": Warn(
        "pods that share a template have the same rank",
        "write $(LWS_WORKER_INDEX), or remove the launch to have a launcher write it",
    ),
    "FI571": Warn(
        "a pod that serves has no readinessProbe",
        "write the probe in the message into the engine's container",
        "Kubernetes takes a container without one for ready as soon as its process runs",
    ),
}
