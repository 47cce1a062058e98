"""What authors write by mistake, in a few words: an object, the code, the field and words of the message.

With the golden cases, whose messages are not repeated here, the rows cover every code that one new
LeaderWorkerSet can have (`OTHERS` of `test_mistakes` has the rest). To add a rule, add a row or a case: the
laws of `test_mistakes` then hold for its message.
"""

import re
from typing import Any, Final, NamedTuple

from intent import Object
from intent.template import Templates
from tests.builders.lws import changed, container, lws, template

GROUP: Final = "spec.leaderWorkerTemplate"
POD: Final = f"{GROUP}.workerTemplate.spec"
ENGINE: Final = f"{POD}.containers[0]"
PATHS: Final = {"engine": ENGINE, "pod": POD, "group": GROUP}
CPU: Final = {"requests": {"cpu": "8", "memory": "64Gi"}}
SGLANG: Final = ["python3", "-m", "sglang.launch_server"]
NIXL: Final = '{"kv_connector": "NixlConnector", "kv_role": "%s"}'
PROBE: Final = {"httpGet": {"path": "/health", "port": 8000}}
MOUNTING: Final[Object] = {
    "name": "copy",
    "image": "corp/copy:1",
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
}
DISAGGREGATION: Final = "pd-disaggregation"


class Mistake(NamedTuple):
    """An object with one mistake, and what its author reads."""

    where: str
    """The code, and the path of the field; `engine`, `pod`, `group` and `note:KEY` stand for longer paths."""
    says: str
    """A part of the message that names the cause or the remedy."""
    object: Object
    templates: Templates | None = None
    """Those that it may name."""

    @property
    def code(self) -> str:
        """The code of the finding."""
        return self.where.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path of the field."""
        path = re.sub(r"^(engine|pod|group)\b", lambda found: PATHS[found[0]], self.where.partition(" ")[2])
        return re.sub(r"^note:(.*)", r"metadata.annotations[fusioninfer.io/\1]", path)


def annotated(whole: Object, **notes: str) -> Object:
    """Return an object with further annotations; `component_type=` is fusioninfer.io/component-type."""
    for name, value in notes.items():
        whole = changed(whole, f"metadata.annotations.fusioninfer.io/{name.replace('_', '-')}", value)
    return whole


def args(*words: str, size: int | None = 2, replaced: dict[str, Any] | None = None, **notes: str) -> Object:
    """Return an object whose engine has these arguments, other fields, and annotations."""
    engine = container(args=list(words), **replaced or {})
    return sized(annotated(lws(worker=template(engine)), **notes), size)


def command(*words: str, image: str = "corp/llm:1", **notes: str) -> Object:
    """Return an object whose engine has this command and no arguments."""
    whole = lws(worker=template(container(command=list(words), args=None, image=image)))
    return annotated(whole, **notes)


def sized(whole: Object, size: int | str | None) -> Object:
    """Return an object of another size; None removes the field."""
    return changed(whole, f"{GROUP}.size", size)


def fields(**spec: Any) -> Object:
    """Return an object with fields in the spec of its pods."""
    return lws(worker=template(**spec))


def engine(**fields: Any) -> Object:
    """Return an object with other fields in its engine container."""
    return lws(worker=template(container(**fields)))


def decoder(*words: str, **notes: str) -> Object:
    """Return a decoder of one pod with KV transfer and these further arguments."""
    base = ("org/M", "-tp", "8", "--kv-transfer-config", NIXL % "kv_consumer")
    whole = args(*base, *words, size=1, component_type="decoder", strategy=DISAGGREGATION)
    return annotated(whole, **notes)


def renamed(whole: Object, above: str, old: str, new: str) -> Object:
    """Return an object with a misspelt field."""
    value: Any = whole
    for key in above.split("."):
        value = value[key]
    return changed(changed(whole, f"{above}.{old}", None), f"{above}.{new}", value[old])


_SIZE_FORGOTTEN: Final = {
    "size is forgotten": Mistake(
        "FI308 engine.args[2]",
        "must fit the pod: -tp 16 = 16 accelerators, the pod runs alone and requests 8; "
        "lower a size, or set spec.leaderWorkerTemplate.size to 2",
        args("org/M", "-tp", "16", size=None),
    ),
}
_NO_SIZES: Final = {
    "no parallel size, with vLLM's own launcher": Mistake(
        "FI316 engine",
        "no parallel size is given, so vLLM uses 1 of 16 accelerators; "
        "use --tensor-parallel-size 8 --pipeline-parallel-size 2",
        args("org/M", replaced={"image": "vllm/vllm-openai:v0.20.2"}),
    ),
    "no parallel size, with Ray": Mistake(
        "FI501 engine",
        "no parallel size is given, so vLLM uses 1 of 16 accelerators; use --tensor-parallel-size 8",
        args("org/M", launcher="ray-symmetric"),
    ),
    "a parallel size that uses half of the group": Mistake(
        "FI501 engine.args[2]",
        "--tensor-parallel-size 8 = 8 accelerators, the group requests 16; use --tensor-parallel-size 8 "
        "--pipeline-parallel-size 2, or set spec.leaderWorkerTemplate.size to 1",
        args("org/M", "--tensor-parallel-size", "8"),
    ),
    "sizes that do not divide over the pods": Mistake(
        "FI316 engine.args[2]",
        "must be a multiple of the 2 pods: -tp 7 = 7 accelerators",
        args("org/M", "-tp", "7", launcher="vllm-native"),
    ),
    "sizes that the group does not have": Mistake(
        "FI307 engine.args[2]",
        "-tp 8 x -pp 3 = 24 accelerators, its 2 pods request 16; lower a size, or set "
        "spec.leaderWorkerTemplate.size to 3",
        args("org/M", "-tp", "8", "-pp", "3"),
    ),
}
_IDLE_ALONE: Final = {
    "no parallel size, in one pod of SGLang": Mistake(
        "FI501 engine",
        "so SGLang uses 1 of 8 accelerators; use --tensor-parallel-size 8, or request 1",
        args("--model-path=M", size=1, replaced={"command": SGLANG, "image": "lmsysorg/sglang:v0.5.9"}),
    ),
    "a parallel size that uses half of the pod": Mistake(
        "FI501 engine.args[2]",
        "-tp 4 = 4 accelerators, the pod requests 8; use --tensor-parallel-size 8, or request 4",
        args("org/M", "-tp", "4", size=1),
    ),
    "ranks that use a part of the pod": Mistake(
        "FI501 engine.args[2]",
        "--data-parallel-size 2 = 2 accelerators, the pod requests 8; raise a size, or request 2",
        args("org/M", "--data-parallel-size", "2", size=1),
    ),
    "an annotation that uses a part of the pod": Mistake(
        "FI501 note:parallelism",
        "tensor=4 = 4 accelerators, the pod requests 8; use tensor=8, or request 4",
        args("org/M", size=1, parallelism="tensor=4"),
    ),
}
_MISSPELT: Final = {
    f"{word} for {meant} of {title}": Mistake(
        "FI333 engine.args[1]",
        f"{re.split('[ =]', word)[0]} is not a flag of {title}: did you mean {meant}?",
        args(model, *word.split(), *rest, replaced=replaced),
    )
    for title, model, rest, replaced, words in (
        (
            "vLLM",
            "org/M",
            ("-tp", "8", "-pp", "2"),
            {},
            {
                "--tensorparallel-size 16": "--tensor-parallel-size",
                "--tensor_parallelsize=16": "--tensor-parallel-size",
                "-tensor-parallel-size 16": "--tensor-parallel-size",
                "--Tensor-Parallel-Size 16": "--tensor-parallel-size",
                "--tp 16": "--tensor-parallel-size",
                "-tp8": "-tp",
                "-asc16": "-asc",
                "--kv-transferconfig.kv_role kv_both": "--kv-transfer-config.kv_role",
                "--mem-fraction-static 0.9": "--gpu-memory-utilization",
            },
        ),
        (
            "SGLang",
            "--model-path=org/M",
            ("--tp", "16", "--host", "0.0.0.0"),  # noqa: S104 - an argument
            {"command": SGLANG, "image": "lmsysorg/sglang:v0.5.9"},
            {
                "--tensor_parallel_size 16": "--tensor-parallel-size",
                "-tp 16": "--tp-size",
                "--max-model-len 4096": "--context-length",
                "--gpu-memory-utilization 0.9": "--mem-fraction-static",
            },
        ),
    )
    for word, meant in words.items()
}
_HAND: Final = ("--nnodes", "2", "--node-rank", "$(LWS_WORKER_INDEX)", "--master-addr", "x")
_EC: Final = ("--ec-transfer-config", '{"ec_connector": "ECExampleConnector", "ec_role": "ec_consumer"}')
_STOCK: Final = "vllm/vllm-openai:v{}"
_SINCE: Final = "--ec-transfer-config is not a flag of vLLM 0.9.2: remove it, or use vLLM 0.11.1 or later"
_ABSENT: Final = {
    f"a flag that the release lacks: {image}, {words[-1]}": Mistake(
        f"{code} engine.{where}", says, engine(command=[*command] or None, args=list(words), image=image)
    )
    for code, where, image, command, words, says in (
        ("FI333", "args[2]", _STOCK.format("0.9.2"), (), ("--model", "org/M", *_EC), _SINCE),
        (
            *("FI333", "args[2]", _STOCK.format("0.9.2"), (), ("--model", "org/M", "--ec-t={}")),
            "--ec-t is not a flag of vLLM 0.9.2: remove it, or use vLLM 0.11.1 or later",
        ),
        (
            *("FI333", "args[1]", _STOCK.format("0.33.0"), (), ("org/M", "--swap-space=4")),
            "--swap-space is not a flag of vLLM 0.33.0: remove it, or use vLLM 0.17.1 or earlier",
        ),
        (
            *("FI333", "args[1]", _STOCK.format("0.10.2"), ("vllm", "serve"), ("org/M", *_HAND)),
            "--nnodes, --node-rank, --master-addr are not flags of vLLM 0.10.2: remove them, or use",
        ),
        (
            *("FI543", "args[0]", _STOCK.format("0.9.2"), ("sh", "-c")),
            ("ray start --head; vllm serve org/M --ec-transfer-config {}",),
            _SINCE,
        ),
        ("FI543", "args[1]", "corp/vllm-openai:v0.9.2-corp", ("vllm", "serve"), ("org/M", *_EC), _SINCE),
        (
            *("FI543", "args[1]", "ghcr.io/llm-d/llm-d-cuda:v0.5.1", ("vllm", "serve")),
            ("org/M", "--aux-output-config", "{}"),
            "--aux-output-config is not a flag of vLLM 0.14.1: remove it, or use vLLM 0.31.0 or later",
        ),
        (
            "FI333",
            "args[1]",
            _STOCK.format("0.9.2"),
            (),
            ("org/M", "-dpe"),
            "-dpe is not a flag of vLLM 0.9.2",
        ),
        (
            *("FI333", "args[1]", _STOCK.format("0.17.1"), (), ("org/M", "--max-batch-tokens", "1")),
            "--max-batch-tokens is not a flag of vLLM 0.17.1, nor of another release: remove it",
        ),
        (
            *("FI333", "args[2]", "lmsysorg/sglang:v0.5.9", SGLANG, ("--model-path", "org/M", "-O3")),
            "-O3 is not a flag of SGLang 0.5.9, nor of another release: remove it",
        ),
    )
}
_WORDS: Final = {
    **{
        f"a misspelt flag, in {what}": Mistake(
            f"FI543 engine.{where}",
            "--max-model-length is not a flag of vLLM: did you mean --max-model-len?",
            engine(**{"args": ["org/M", "--max-model-length", "4096", "-tp", "8", "-pp", "2"]} | replaced),
        )
        for what, where, replaced in (
            ("an image of a registry", "args[1]", {"image": "corp/vllm-openai:v0.17.1"}),
            ("a build of a release", "args[1]", {"image": "vllm/vllm-openai:v0.17.1-corp"}),
            ("an image with a digest", "args[1]", {"image": f"vllm/vllm-openai:v0.17.1@sha256:{'a' * 64}"}),
            ("a release whose flags were not read", "args[1]", {"image": "vllm/vllm-openai:v0.99.0"}),
            (
                "a script",
                "args[0]",
                {
                    "command": ["sh", "-c"],
                    "args": ["pip install -U vllm; vllm serve org/M --max-model-length 4096 -tp 8 -pp 2"],
                },
            ),
        )
    },
    "a flag and its value in one item": Mistake(
        "FI309 engine.args[1]",
        "must be one list item per word, --tensor-parallel-size and 16 apart: no shell splits it",
        args("org/M", "--tensor-parallel-size 16"),
    ),
    "a model and all flags in one item": Mistake(
        "FI309 engine.args[0]",
        "must be one list item per word, org/M and --tensor-parallel-size apart",
        args("org/M --tensor-parallel-size 8 --pipeline-parallel-size 2"),
    ),
    "two flags with = in one item": Mistake(
        "FI309 engine.args[1]",
        "must be one list item per word, --tensor-parallel-size=8 and --port=8001 apart",
        args("org/M", "--tensor-parallel-size=8 --port=8001"),
    ),
}
_NOT_STARTED: Final = {
    "an engine without a launcher": Mistake(
        "FI519 engine.command",
        "TensorRT-LLM is not started over pods, each runs it alone; set fusioninfer.io/launcher: none",
        command("trtllm-serve", "org/M"),
    ),
    "the whole command in one item": Mistake(
        "FI517 engine.command",
        "left as it is: vllm serve org/M is not known to start an engine; set command, for example [vllm",
        command("vllm serve org/M"),
    ),
    "a script of the image": Mistake(
        "FI517 engine.command",
        "start.sh is not known to start an engine; set command, for example [vllm, serve], or set "
        "fusioninfer.io/launcher: none",
        command("/opt/start.sh"),
    ),
    "two engines in a shell": Mistake(
        "FI514 engine.args[0]",
        "left as it is: the shell script is not a plain start of one engine; write [vllm, serve,",
        engine(command=["sh", "-c"], args=["vllm serve M --port 8001 & exec vllm serve N"]),
    ),
    "a launch of their own": Mistake(
        "FI518 engine.args",
        "--nnodes launches the nodes already; to use a launcher, remove it",
        args(
            *("org/M", "-tp", "16", "--nnodes", "2", "--node-rank", "0"),
            replaced={"command": None},
            launcher="vllm-native",
        ),
    ),
    "a number of nodes that is not the size": Mistake(
        "FI512 engine.args[3]",
        "--nnodes is 3, but the group has 2 pods: make them equal",
        args("org/M", "-tp", "16", "--nnodes", "3"),
    ),
    "Ray for data parallelism, with vLLM's own launcher": Mistake(
        "FI514 engine.command",
        "vllm-native starts only [vllm, serve, MODEL, ...] as list items",
        args("org/M", "-dp", "2", "--data-parallel-backend", "ray", launcher="vllm-native"),
    ),
}
_ANNOTATIONS: Final = {
    "a service in capitals": Mistake("FI104 note:service", "lower-case", lws(service="Chat")),
    "a misspelt annotation": Mistake(
        "FI102 note:lancher", "did you mean fusioninfer.io/launcher?", lws(lancher="auto")
    ),
    "a launcher without a service": Mistake(
        "FI103 metadata.annotations",
        "fusioninfer.io/service is missing, without which fusioninfer.io/launcher has no effect: add it",
        changed(lws(launcher="auto"), "metadata.annotations.fusioninfer.io/service", None),
    ),
    "inject: false": Mistake(
        "FI104 note:inject",
        "must be disabled, to bypass the webhooks for this object, or absent",
        lws(inject="false"),
    ),
    "a role name with a dot": Mistake("FI104 note:role-name", "DNS-1123", lws(role_name="a.b")),
    "a role twice": Mistake("FI104 note:roles", "each once", lws(roles="worker,worker")),
    "an annotation as a label": Mistake(
        "FI107 metadata.labels[fusioninfer.io/launcher]",
        "labels under fusioninfer.io/ are reserved; annotations are in metadata.annotations",
        changed(lws(), "metadata.labels", {"fusioninfer.io/launcher": "auto"}),
    ),
    "wokerTemplate": Mistake(
        "FI108 group.workerTemplate",
        "is required",
        renamed(lws(), GROUP, "workerTemplate", "wokerTemplate"),
    ),
    "a size in quotes": Mistake("FI108 group.size", "must be a whole number", sized(lws(), "2")),
    "a long name": Mistake("FI109 metadata.name", "at most", changed(lws(), "metadata.name", "x" * 60)),
    "a Kueue queue as an annotation": Mistake(
        "FI204 metadata.annotations[kueue.x-k8s.io/queue-name]",
        "must be absent: Kueue admits each LeaderWorkerSet apart from its service",
        changed(lws(), "metadata.annotations.kueue~x-k8s~io/queue-name", "team-a"),
    ),
    "a Kueue queue as a label": Mistake(
        "FI204 metadata.labels[kueue.x-k8s.io/queue-name]",
        "or set fusioninfer.io/scheduler-name: default-scheduler",
        changed(lws(), "metadata.labels", {"kueue.x-k8s.io/queue-name": "team-a"}),
    ),
    "other roles on a worker": Mistake(
        "FI208 note:roles",
        "must be worker or absent: a worker waits for no other role; for prefill and decode set",
        lws(roles="worker,decode"),
    ),
}
_GANG: Final = {
    "LeaderReady with a probe, without a gang": Mistake(
        "FI201 spec.startupPolicy",
        "and the leader is not ready before the engine runs on all pods",
        changed(
            annotated(engine(readinessProbe=PROBE), scheduler_name="default-scheduler"),
            "spec.startupPolicy",
            "LeaderReady",
        ),
    ),
    "exclusive topology": Mistake(
        "FI202 metadata.annotations[leaderworkerset.sigs.k8s.io/exclusive-topology]",
        "together with them; or set fusioninfer.io/scheduler-name: default-scheduler",
        changed(lws(), "metadata.annotations.leaderworkerset~sigs~k8s~io/exclusive-topology", "rack"),
    ),
    "a gang of LWS": Mistake(
        "FI203 spec.scheduling",
        "LWS would create PodGroups beside that of service svc",
        changed(lws(), "spec.scheduling", {"policy": "gang"}),
    ),
    **{
        f"{name or 'no'} scheduler": Mistake(
            "FI205 pod.schedulerName",
            "must be absent, or volcano, the scheduler of service svc; or set fusioninfer.io/scheduler-name: "
            f"{name or 'default-scheduler'}",
            fields(schedulerName=name),
        )
        for name in ("another", "")
    },
    **{
        f"{key} of {'another' if value else 'no'} object": Mistake(
            f"FI205 group.workerTemplate.metadata.annotations[{key}]",
            says,
            changed(lws(), f"{GROUP}.workerTemplate.metadata", {"annotations": {key: value}}),
        )
        for value in ("other", "")
        for key, says in (
            ("scheduling.k8s.io/group-name", "must be absent, or svc, the PodGroup of the service"),
            ("volcano.sh/task-spec", "must be absent, or worker, the role"),
        )
    },
}
_CONTAINERS: Final = {
    "two containers with accelerators": Mistake(
        "FI301 pod.containers",
        "set fusioninfer.io/engine-container to one of a, b",
        lws(worker=template(container("a"), container("b"))),
    ),
    "an engine container of another name": Mistake(
        "FI302 pod.containers",
        "has no container vlm, which fusioninfer.io/engine-container names; use one of vllm",
        lws(engine_container="vlm"),
    ),
    "no accelerator": Mistake(
        "FI303 engine.resources.limits",
        "must request an accelerator, for example nvidia.com/gpu, since the engine spans 2 pods; or set "
        "fusioninfer.io/launcher: none",
        engine(resources=CPU),
    ),
    "no container": Mistake("FI319 pod.containers", "at least one container", fields(containers=[])),
    "a mount without its volume": Mistake(
        "FI331 engine.volumeMounts[0].name",
        "add data to spec.volumes of this template",
        engine(volumeMounts=[{"name": "data", "mountPath": "/data"}]),
    ),
    "a mount of an init container without its volume": Mistake(
        "FI331 pod.initContainers[0].volumeMounts[0].name",
        "add data to spec.volumes of this template",
        fields(initContainers=[MOUNTING]),
    ),
    "a claim that the pod lacks": Mistake(
        "FI338 engine.resources.claims[0].name",
        "add gpus to spec.resourceClaims of this template",
        engine(resources=CPU | {"claims": [{"name": "gpus"}]}),
    ),
    "no image": Mistake("FI332 engine.image", "is required", engine(image=None)),
    "an empty image of a further container": Mistake(
        "FI332 pod.containers[1].image",
        "is required",
        lws(worker=template(container(), {"name": "log", "image": ""})),
    ),
    "an empty name": Mistake("FI108 pod.containers[0]", "must be a container with a name", engine(name="")),
    "a container named like the injected one": Mistake(
        "FI320 pod.containers[1].name",
        "must be another name",
        lws(worker=template(container(), {"name": "wait-for-leader", "image": "corp/x"})),
    ),
    "a misspelt accelerator": Mistake(
        "FI537 engine.resources.limits",
        "check the parallel sizes yourself; did you mean nvidia.com/gpu?",
        engine(
            image="corp/llm:1", resources={"requests": CPU["requests"], "limits": {"nvidia.com/gpus": "8"}}
        ),
    ),
    "an unknown device": Mistake(
        "FI537 engine.resources.limits",
        "aws.amazon.com/neuron is not a known accelerator: check the parallel sizes yourself",
        engine(resources={"requests": CPU["requests"], "limits": {"aws.amazon.com/neuron": "8"}}),
    ),
    "devices of a class as a resource": Mistake(
        "FI537 engine.resources.limits",
        "it is a claim, for which Volcano finds no node: name a ResourceClaimTemplate",
        engine(resources=CPU | {"limits": {"deviceclass.resource.kubernetes.io/gpu.nvidia.com": "8"}}),
    ),
    "two images": Mistake(
        "FI513 engine.image",
        "use one image",
        lws(worker=template(container(image="vllm/vllm-openai:v0.17.0")), leader=template(container())),
    ),
    "the network of the host": Mistake(
        "FI510 pod.hostNetwork", "remove hostNetwork", fields(hostNetwork=True)
    ),
    "a probe of Ray": Mistake(
        "FI505 engine.livenessProbe",
        "probe the API port",
        engine(livenessProbe={"tcpSocket": {"port": 6379}}),
    ),
    "a probe of one of several servers": Mistake(
        "FI505 engine.readinessProbe",
        "use path /health and port 9256",
        engine(
            image="vllm/vllm-openai:v0.30.0",
            args=["org/M", "-dp", "16", "--data-parallel-multi-port-external-lb"],
            readinessProbe={"httpGet": {"path": "/v1/models", "port": 8000}},
        ),
    ),
    "Mooncake in several servers of a prefiller": Mistake(
        "FI508 engine.args[5]",
        "set bootstrap_server_address",
        args(
            *("org/M", "-dp", "16", "--data-parallel-multi-port-external-lb", "--kv-transfer-config"),
            '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}',
            replaced={"image": "vllm/vllm-openai:v0.32.0"},
            component_type="prefiller",
        ),
    ),
}
_ARGUMENTS: Final = {
    "no model": Mistake("FI306 engine.args", "names no model: add --model NAME", args("-tp", "16")),
    **{
        f"ranks in a template of several pods: {words[0]}": Mistake(
            f"FI328 engine.args[{at}]",
            says,
            args("org/M", *words, size=size, replaced={"image": "vllm/vllm-openai:v0.28.0"}, **notes),
        )
        for words, at, size, notes, says in (
            (
                ("-dp", "16", "--data-parallel-start-rank", "0"),
                3,
                2,
                {},
                "--data-parallel-start-rank 0 gives the 2 pods of this template the same rank: remove it",
            ),
            (("-dpr", "0", "-dp", "16"), 1, 2, {"launcher": "none"}, "-dpr 0 gives the 2 pods"),
            (("-dpn=1", "-dp", "3", "-tp", "8"), 1, 3, {}, "-dpn 1 gives the 3 pods"),
        )
    },
    **{
        f"load balancing of ranks: {says}": Mistake(
            f"FI329 engine.{where}",
            says,
            args(
                *words.split(),
                size=size,
                replaced={"image": f"vllm/vllm-openai:v{version}"},
                strategy="prefix-cache",
            ),
        )
        for words, where, size, version, says in (
            (
                "org/M -dp 16 -dpe",
                "args[3]",
                2,
                "0.28.0",
                "-dpe runs one rank a pod, and 2 pods are no multiple of 16 ranks: use --data-",
            ),
            (
                "org/M -dp 2 -tp 8 -pp 2 -dph",
                "args[7]",
                4,
                "0.28.0",
                "-dph needs whole ranks in each pod, and 2 ranks span 4 pods: remove it",
            ),
            (
                "org/M -dp 16 -dpm --data-parallel-supervisor-port 99999",
                "args[3]",
                2,
                "0.28.0",
                "-dpm needs a port for each of at most 63 ranks of a pod",
            ),
            (
                "org/M -dp 2 -tp 8 -pp 2 -dpe",
                "args[7]",
                4,
                "0.28.0",
                "-dpe needs whole ranks in each pod, and 2 ranks span 4 pods: remove it",
            ),
            (
                "org/M -dp 2 -tp 8 -dpe -dpl 2",
                "args[5]",
                2,
                "0.28.0",
                "runs one rank a pod: remove --data-parallel-size-local",
            ),
            ("Qwen/Qwen3-32B -dp 2 -tp 8 -dpe", "args[5]", 2, "0.21.0", "needs a mixture-of-experts model"),
            (
                "Qwen/Qwen3-32B -dp 2 -tp 8 -dph",
                "args[5]",
                2,
                "0.21.0",
                "-dph needs a mixture-of-experts model",
            ),
            ("org/M -dp 16 -dph -dpm", "args[4]", 2, "0.28.0", "cannot be used with another load balancing"),
            ("org/M -dp 16 -dpm --ssl-certfile c", "args[3]", 2, "0.28.0", "has no TLS"),
            ("org/M -dp 16 -dpm -asc 4", "args[3]", 2, "0.28.0", "remove --api-server-count"),
            (
                "org/M -dp 2 -tp 8 -dpm",
                "args[5]",
                2,
                "0.28.0",
                "needs a --data-parallel-size-local of 2 or more that divides 2",
            ),
            (
                "org/M -dp 16 -dpm --data-parallel-supervisor-port 8003",
                "args[3]",
                2,
                "0.28.0",
                "and a --data-parallel-supervisor-port beside them",
            ),
            (
                "org/M -dp 32 -dpl 16 -dpm",
                "args[5]",
                2,
                "0.28.0",
                "has more ranks a pod than an InferencePool has ports, 8: lower --data-parallel-size-local",
            ),
            (
                "Qwen/Qwen3-32B -dp 2 -tp 8 -pp 2",
                "image",
                4,
                "0.23.0",
                "must be vLLM 0.28 or later, or before 0.14",
            ),
        )
    },
    "ranks that span pods, of an unknown model": Mistake(
        "FI549 engine.image",
        "v0.23.0 does not start data-parallel ranks that span pods, unless its model has experts",
        args(
            "org/M",
            "-dp",
            "2",
            "-tp",
            "8",
            "-pp",
            "2",
            size=4,
            replaced={"image": "vllm/vllm-openai:v0.23.0"},
        ),
    ),
    "more ranks in a pod than accelerators": Mistake(
        "FI316 engine.args[2]",
        "must fit each pod: -dp 32 = 32 accelerators, 16 on a pod that requests 8; lower a size"
        ", or set spec.leaderWorkerTemplate.size to 4",
        args("org/M", "-dp", "32", "-dpl", "16"),
    ),
    "too few ranks in the pods": Mistake(
        "FI316 engine.args[4]",
        "must add up to 16 data-parallel ranks, and 4 on the leader, 4 on each of 1 workers are 8",
        args("org/M", "-dp", "16", "-dpl", "4"),
    ),
    "a decoder of SGLang without its annotation": Mistake(
        "FI318 engine.args[5]",
        "must be absent, or with fusioninfer.io/component-type: decoder",
        args(
            *("--model-path", "org/M", "--tp", "16", "--disaggregation-mode", "decode"),
            replaced={"command": SGLANG},
        ),
    ),
    "the mode of the other side": Mistake(
        "FI318 engine.args[5]",
        "must be decode: the component type is decoder",
        args(
            *("--model-path", "org/M", "--tp", "16", "--disaggregation-mode", "prefill"),
            replaced={"command": SGLANG},
            component_type="decoder",
        ),
    ),
    "the rank of one node in a template of several pods": Mistake(
        "FI570 engine.args[5]",
        "--node-rank 0 gives the 2 pods of this template the same rank: write $(LWS_WORKER_INDEX)",
        args("org/M", "-tp", "16", "--nnodes", "2", "--node-rank", "0", replaced={"command": None}),
    ),
    "tensor parallelism over nodes in a release that hangs": Mistake(
        "FI569 engine.args[2]",
        "-tp 16 over pods hangs at start in this vLLM: add --disable-custom-all-reduce",
        args("org/M", "-tp", "16", replaced={"image": "vllm/vllm-openai:v0.28.0"}),
    ),
    "an image without Ray": Mistake(
        "FI504 engine.image",
        "vllm-openai v0.20.2 has no Ray: ray-symmetric needs Ray 2.54 or later; "
        "set fusioninfer.io/launcher: vllm-native",
        args("org/M", replaced={"image": "vllm/vllm-openai:v0.20.2"}, launcher="ray-symmetric"),
    ),
    "a connector of another version": Mistake(
        "FI506 engine.args[2]",
        "PyNcclConnector is not in vLLM 0.17.1; use NixlConnector",
        args("org/M", "--kv-transfer-config", '{"kv_connector": "PyNcclConnector", "kv_role": "kv_both"}'),
    ),
    "a pipeline on a decoder": Mistake(
        "FI508 engine.args[4]",
        "NixlConnector transfers nothing to a decoder with pipeline parallel size 2",
        decoder("-pp", "2"),
    ),
    "a loopback address": Mistake(
        "FI509 engine.args[2]",
        "which no other pod reaches; add --host 0.0.0.0",
        args("org/M", "--host", "localhost"),
    ),
    "the model twice": Mistake(
        "FI515 engine.args[2]",
        "the model is given twice, org/A and --model org/B: keep one; org/A is served",
        args("org/A", "--model", "org/B"),
    ),
    "a second word without a flag": Mistake(
        "FI536 engine.args[3]",
        "org/N follows the model, so it is not read as the model; remove it",
        args("org/M", "-tp", "16", "org/N"),
    ),
    "an encoder that hands nothing on": Mistake(
        "FI539 engine",
        "an encoder without --ec-transfer-config hands on nothing: add it",
        args("org/M", "-tp", "16", component_type="encoder"),
    ),
    "data-parallel ranks with Ray": Mistake(
        "FI541 engine.args[2]",
        "-dp 16 starts all ranks on the leader; add --data-parallel-backend ray",
        args("org/M", "-dp", "16", launcher="ray-symmetric"),
    ),
    "options of a sidecar that there is not": Mistake(
        "FI568 note:sidecar", "only a decoder with", annotated(lws(), sidecar="connector=nixlv2")
    ),
    "an address of a decoder": Mistake("FI851 engine", "write --host 0.0.0.0", decoder("--host", "10.0.0.1")),
}
_INITIALIZER: Final = {"name": "storage-initializer", "image": "kserve/storage-initializer:v0.21.0"}


def modeled(
    uri: str, *, fields: dict[str, Any] | None = None, spec: Object | None = None, **notes: str
) -> Object:
    """Return an object with a model in its annotations, and none in the arguments of its engine."""
    plain = container(args=["-tp", "8", "-pp", "2"], **fields or {})
    return annotated(lws(worker=template(plain, **spec or {})), model=uri, **notes)


_MODEL: Final = {
    "a model without a scheme": Mistake(
        "FI104 note:model", "for a model of Hugging Face write hf://org/M", modeled("org/M")
    ),
    "a variable of the kubelet in the URI of a model": Mistake(
        "FI104 note:model",
        "must not contain $(KEY), which the kubelet would replace: write the text itself",
        modeled("https://host/model?token=$(KEY)"),
    ),
    "a path as the cache": Mistake(
        "FI104 note:model-cache",
        "must be pvc://CLAIM/PATH, a size such as 500Gi, download, or download,SIZE: /cache is no size",
        modeled("hf://org/M", model_cache="/cache"),
    ),
    "a pull Secret for an image": Mistake(
        "FI112 note:model-secret",
        "has no effect with oci://: remove it",
        modeled("oci://reg/m", model_secret="keys"),
    ),
    "a cache for a claim": Mistake(
        "FI112 note:model-cache",
        "has no effect with pvc+hf://: remove it",
        modeled("pvc+hf://claim/org/M", model_cache="5Gi"),
    ),
    "a claim for each pod's own download": Mistake(
        "FI112 note:model-cache",
        "has no effect with s3://: remove it",
        modeled("s3://bucket/m", model_cache="pvc://claim"),
    ),
    **{
        f"a {part} without a model": Mistake(
            f"FI112 note:model-{part}",
            "has no effect without fusioninfer.io/model: add it",
            annotated(lws(), **{f"model_{part}": value}),
        )
        for part, value in (("name", "chat"), ("secret", "keys"), ("cache", "5Gi"))
    },
    "an init container that downloads another model": Mistake(
        "FI321 pod.initContainers",
        "must have the args [s3://bucket/m, /mnt/models]",
        modeled("s3://bucket/m", spec={"initContainers": [{**_INITIALIZER, "args": ["s3://bucket/n"]}]}),
    ),
    "a container with the name of the download": Mistake(
        "FI320 pod.containers[1].name",
        "must be another name: an init container of this name is injected",
        changed(
            modeled("s3://bucket/m"),
            f"{POD}.containers",
            [container(args=["-tp", "8", "-pp", "2"]), _INITIALIZER],
        ),
    ),
    "another model in the arguments": Mistake(
        "FI324 engine.args[0]",
        "org/N contradicts fusioninfer.io/model, which gives org/M: remove one of the two",
        args("org/N", "-tp", "8", "-pp", "2", model="hf://org/M"),
    ),
    "another revision in the arguments": Mistake(
        "FI324 engine.args[2]",
        "--revision v2 contradicts v1 in fusioninfer.io/model",
        args("org/M", "--revision", "v2", "-tp", "8", "-pp", "2", model="hf://org/M:v1"),
    ),
    "another served name in the arguments": Mistake(
        "FI324 engine.args[2]",
        "--served-model-name b c contradicts a in fusioninfer.io/model-name",
        args(
            "org/M",
            "--served-model-name",
            "b",
            "c",
            "-tp",
            "8",
            "-pp",
            "2",
            model="hf://org/M",
            model_name="a",
        ),
    ),
    "a mount where the model would be": Mistake(
        "FI544 engine.volumeMounts",
        "/mnt/models is a mount of your own, which is used: pvc://claim is not mounted",
        modeled(
            "pvc://claim",
            fields={"volumeMounts": [{"name": "data", "mountPath": "/mnt/models"}]},
            spec={"volumes": [{"name": "data", "emptyDir": {}}]},
        ),
    ),
    "a token beside the Secret": Mistake(
        "FI544 engine.env",
        "HF_TOKEN is your own, which is used: fusioninfer.io/model may have no effect on it",
        modeled("hf://org/M", fields={"env": [{"name": "HF_TOKEN", "value": "x"}]}, model_secret="keys"),
    ),
    "a model for an engine that is not known": Mistake(
        "FI546 note:model",
        "is not understood or launches the nodes itself: write its flags there yourself",
        annotated(sized(command("serve-it"), 1), model="pvc://claim"),
    ),
}
_PARALLELISM: Final = {
    "parallelism of an engine that nothing names": Mistake(
        "FI116 note:parallelism",
        "has no known engine container: name it in fusioninfer.io/engine-container",
        annotated(lws(worker=template(container("a"), container("b"))), parallelism="tensor=8"),
    ),
    "a name of parallelism misspelt": Mistake(
        "FI104 note:parallelism",
        "tensr is not a kind of parallelism; did you mean tensor?",
        args("org/M", parallelism="tensr=8"),
    ),
    "a size of zero": Mistake(
        "FI104 note:parallelism",
        "tensor must be a whole number from 1 to",
        args("org/M", parallelism="tensor=0"),
    ),
    "a name twice": Mistake(
        "FI104 note:parallelism",
        "tensor is given twice: keep one",
        args("org/M", parallelism="tensor=8,tensor=4"),
    ),
    "ranks that do not divide over the pods": Mistake(
        "FI104 note:parallelism",
        "data=13 must be a multiple of dataLocal=8",
        args("org/M", parallelism="data=13,dataLocal=8"),
    ),
    "ranks of a pod without ranks": Mistake(
        "FI104 note:parallelism",
        "dataLocal needs data, the ranks of the whole group, as in data=4",
        args("org/M", parallelism="dataLocal=2"),
    ),
    "parallelism for a script of one's own": Mistake(
        "FI116 note:parallelism",
        "is not understood or launches the nodes itself: write its flags there yourself",
        annotated(command("/start.sh"), parallelism="tensor=8,pipeline=2", launcher="none"),
    ),
    "a port that SGLang has no flag for": Mistake(
        "FI116 note:parallelism",
        "sglang has no setting for dataRPCPort: remove it",
        annotated(
            lws(worker=template(container(command=SGLANG, args=["--model-path", "M"]))),
            parallelism="tensor=8,pipeline=2,dataRPCPort=5555",
        ),
    ),
    "a flag that the image is too old for": Mistake(
        "FI333 note:parallelism",
        "dataLocal is not a flag of vLLM 0.8.5: remove it, or use vLLM 0.9.0 or later",
        args(
            "org/M", size=1, replaced={"image": "vllm/vllm-openai:v0.8.5"}, parallelism="data=8,dataLocal=8"
        ),
    ),
    "a size in the arguments, and another in the annotation": Mistake(
        "FI117 engine.args[2]",
        "-tp 8 contradicts tensor=4 in fusioninfer.io/parallelism: remove one of the two",
        args("org/M", "-tp", "8", "-pp", "2", parallelism="tensor=4"),
    ),
    "expert parallelism turned off in the arguments": Mistake(
        "FI117 engine.args[5]",
        "--no-enable-expert-parallel contradicts expert",
        args("org/M", "-tp", "8", "-pp", "2", "--no-enable-expert-parallel", parallelism="expert"),
    ),
    "sizes over pods that nothing joins": Mistake(
        "FI308 note:parallelism",
        "= 16 accelerators, the pod runs alone and requests 8; lower a size, or remove "
        "fusioninfer.io/launcher: none",
        args("org/M", launcher="none", parallelism="tensor=8,pipeline=2"),
    ),
    "ranks of a pod, and another size of the group": Mistake(
        "FI316 note:parallelism",
        f"dataLocal=8 on each of 4 pods is not data=16: set {GROUP}.size to 2",
        args("org/M", size=4, parallelism="data=16,dataLocal=8"),
    ),
    "size is forgotten, with an annotation": Mistake(
        "FI308 note:parallelism",
        "tensor=8 x pipeline=2 = 16 accelerators, the pod runs alone and requests 8; lower a size, or set "
        "spec.leaderWorkerTemplate.size to 2",
        args("org/M", size=1, parallelism="tensor=8,pipeline=2"),
    ),
}
_LORA: Final = {
    "an adapter without a scheme": Mistake(
        "FI104 note:lora",
        "sql: the value must be a URI: for a model of Hugging Face write hf://org/sql",
        args("org/M", size=1, lora="sql=org/sql"),
    ),
    "a list of adapters of the author's own": Mistake(
        "FI124 engine.args[2]",
        "--lora-modules law=/law contradicts sql=org/sql in fusioninfer.io/lora: remove one of the two",
        args("org/M", "--lora-modules", "law=/law", size=1, lora="sql=hf://org/sql"),
    ),
    "a mount where an adapter would be": Mistake(
        "FI544 engine.volumeMounts",
        "/mnt/lora/sql is a mount of your own, which is used: pvc://claim is not mounted",
        args(
            "org/M",
            size=1,
            lora="sql=pvc://claim",
            replaced={"volumeMounts": [{"name": "data", "mountPath": "/mnt/lora/sql"}]},
        ),
    ),
    "an adapter with the name of the model": Mistake(
        "FI125 note:lora",
        "chat is the name of the model too: give the adapter another name",
        args("org/M", "--served-model-name", "chat", size=1, lora="chat=hf://org/sql"),
    ),
}


def _library(*pods: Object, **spec: Any) -> Templates:
    """Return the template base with these entries."""
    return {"base": {"kind": "InferenceTemplate", "spec": {"pods": list(pods), **spec}}}


def _entry(**engine: Any) -> Object:
    """Return an entry with fields of the engine's container."""
    return {"template": {"spec": {"containers": [{"name": "vllm", **engine}]}}}


_TEMPLATES: Final = {
    "a variable of a template without a value": Mistake(
        "FI950 note:base-refs",
        "$(model.name) is the name under which the model is served, which is not set: set it",
        args("org/M", base_refs="base"),
        _library(_entry(workingDir="/$(model.name)")),
    ),
    "a misspelt variable of a template": Mistake(
        "FI950 note:base-refs",
        "$(model.nam) is no variable; did you mean model.name?",
        args("org/M", base_refs="base"),
        _library(_entry(workingDir="/$(model.nam)")),
    ),
    "a template that does not exist": Mistake(
        "FI951 note:base-refs",
        "InferenceTemplate bse does not exist: apply it, or correct the name",
        args("org/M", base_refs="bse"),
        _library(),
    ),
    "templates that are too large": Mistake(
        "FI952 note:base-refs",
        "and the limit is 65536: name fewer, or make them smaller",
        args("org/M", base_refs="base"),
        _library(_entry(env=[{"name": "SCRIPT", "value": "x" * 70_000}])),
    ),
    "a path that a template cannot remove": Mistake(
        "FI954 note:base-refs",
        "spec.pods[0].remove: containers//x must be a path such as containers/vllm/env/DEBUG",
        args("org/M", base_refs="base"),
        _library({"remove": ["containers//x"]}),
    ),
    "a template named twice": Mistake(
        "FI104 note:base-refs",
        "must be at most 8 names of InferenceTemplates, separated by commas, each once",
        args("org/M", base_refs="base,base"),
        _library(),
    ),
}
MISTAKES: Final = {
    **_PARALLELISM,
    **_SIZE_FORGOTTEN,
    **_NO_SIZES,
    **_IDLE_ALONE,
    **_MISSPELT,
    **_ABSENT,
    **_WORDS,
    **_NOT_STARTED,
    **_ANNOTATIONS,
    **_GANG,
    **_CONTAINERS,
    **_ARGUMENTS,
    **_MODEL,
    **_LORA,
    **_TEMPLATES,
}
