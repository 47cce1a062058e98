"""Pods: what a launch needs of them, what their containers lack, and an author's own parts of a model."""

import re
from collections.abc import Iterator
from typing import Final

from catalog.engines import PRODUCTS
from intent.accelerators import DEVICE_CLASS, GPUS
from intent.annotations import LAUNCHER, LORA, MODEL, MODEL_CACHE, MODEL_NAME, MODEL_SECRET, NONE, path
from intent.command_line.flags import DATA, DATA_BACKEND, LOCAL_DATA, PIPELINE, PORT
from intent.errors import FieldError, nearest, suggested
from intent.launch import (
    SHOWN,
    Launch,
    LaunchPlan,
    argument_path,
    countable,
    on_cpu,
    quoted,
    read_sizes,
    text_of,
)
from intent.lws import LWT, Intent, Template
from intent.model import DOWNLOADED, INITIALIZER, KEPT_ELSEWHERE, MODELS, NEED_NO_SECRET, Model, Uri
from intent.names import WAIT_FOR_LEADER
from intent.ranks import local_ranks
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import Launcher
from webhook.launchers.plan import ASSUMED, lacks, runs, verdicts_of
from webhook.layout import Input

_CLAIM_IT: Final = "it is a claim, for which Volcano finds no node: name a ResourceClaimTemplate"
_ALIKE: Final = 0.82
"""The least similarity at which a resource is taken for a known accelerator."""
_DEVICES: Final = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_NOT_DEVICES: Final = frozenset({"", "all", "none", "void"})
_RECREATES: Final = ("", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart")


def pods(inputs: Input, launcher: Launcher) -> Iterator[FieldError]:
    """Check the pods of a launch that is written: of each template, then leader and workers together."""
    intent, plan = inputs.intent, inputs.plan
    for launch in plan.launches:
        if launch.image.engine and not runs([launch], launcher):
            yield from _image(launch, plan, launcher)
        yield from accelerators(launch, intent.size)
        yield from unsuited(launch, intent, on_ray=launcher.uses_ray)
        if launch.command.flags.last(PORT):
            yield from _port(launch, launcher)
    if launcher.uses_ray and plan.leader.command.flags.last(DATA):
        yield from _data_ranks(plan.leader)
    if plan.leader is not plan.worker:
        yield from _different(plan)


def _image(launch: Launch, plan: LaunchPlan, launcher: Launcher) -> Iterator[FieldError]:
    """Report an image that is not known to run the launcher, and name a launcher that it runs."""
    if plan.code == ASSUMED or (plan.older and runs([launch], launcher) is None):
        return
    other = next((name for name, is_able in verdicts_of((launch,)).items() if is_able), "")
    advice = f"set {LAUNCHER}: {other}" if other else "use an image that has it"
    message = f"{lacks(launch, plan.launcher)}; {advice}"
    yield FieldError(f"{launch.template.engine_path}.image", None, message, "FI504")


def accelerators(launch: Launch, size: int) -> Iterator[FieldError]:
    """Report an engine without accelerators, unless it names the CPU; it may run on an unknown device.

    Nothing waits for a launch that its author wrote, and for one pod (`size` is 1): a warning is enough.
    """
    asked, where = launch.engine.accelerators, f"{launch.template.engine_path}.resources.limits"
    if asked.count or asked.claimed or local_ranks(launch) == 0:
        return
    extended, is_stock = launch.engine.extended.value, bool(launch.image.engine)
    if on_cpu(launch) and not extended:
        return
    is_lacking = launch.template.pod.value.accelerated.value or (is_stock and not extended)
    if size > 1 and not on_cpu(launch) and is_lacking:
        message = (
            f"must request an accelerator, for example nvidia.com/gpu, since the engine spans {size} pods; "
            f"or set {LAUNCHER}: {NONE}"
        )
        yield FieldError(where, None, message, "FI303")
    elif extended:
        near = suggested(nearest(extended[0], GPUS, _ALIKE))
        is_claim = extended[0].startswith(DEVICE_CLASS)
        advice = _CLAIM_IT if is_claim else f"check the parallel sizes yourself{near}"
        message = f"{extended[0][:SHOWN]} is not a known accelerator: {advice}"
        yield FieldError(where, None, message, "FI537")
    elif size > 1 or is_stock:
        named = "add --device cpu" if launch.image.engine == "sglang" else "set VLLM_TARGET_DEVICE=cpu"
        message = f"requests no accelerator: request one, or {named} if it runs on CPU"
        yield FieldError(where, None, message, "FI538")


def unsuited(launch: Launch, intent: Intent, *, on_ray: bool = False) -> Iterator[FieldError]:
    """FI510: pods that restart alone, or cannot resolve the leader's name; and what Ray does not bear.

    With hostNetwork a pod asks the node's resolver, unless its policy says otherwise; two pods of Ray meet
    there. Ray counts the devices that a pod requests.
    """
    pod, where = launch.template.pod.value, f"{launch.template.path}.spec"
    if intent.restart_policy not in _RECREATES and launch.template is intent.templates[-1]:
        message = (
            f"{intent.restart_policy[:SHOWN]} restarts a pod alone, which cannot rejoin the engine: "
            "use RecreateGroupOnPodRestart"
        )
        yield FieldError(f"{LWT}.restartPolicy", None, message, "FI510")
    if not pod.host_dns:
        message = "hostNetwork without it cannot resolve the leader's name: set ClusterFirstWithHostNet"
        yield FieldError(f"{where}.dnsPolicy", None, message, "FI510")
    if on_ray and pod.host_network:
        message = "two pods of a group on one node would share Ray's ports: remove hostNetwork"
        yield FieldError(f"{where}.hostNetwork", None, message, "FI510")
    for name, value in launch.engine.values if on_ray else ():
        there, named = countable(launch.engine), 0 if value in _NOT_DEVICES else len(value.split(","))
        if name in _DEVICES and there and named and named != there:
            message = (
                f"{name} names {named}, the pod requests {there}: Ray exits without an error; remove {name}"
            )
            yield FieldError(f"{launch.template.engine_path}.env", None, message, "FI510")


def _port(launch: Launch, launcher: Launcher) -> Iterator[FieldError]:
    """Report an API on the port on which the pods of the group find each other."""
    flag, port = launch.command.flags.last(PORT), text_of(launch, PORT)
    if flag and port == str(launcher.port):
        user, free = "Ray" if launcher.uses_ray else "the launch", PRODUCTS[launch.command.engine].port
        message = f"must be another port: {user} uses {port} on the leader; {free} is free"
        yield FieldError(argument_path(launch, flag.value_at), port, message, "FI311")


def _data_ranks(launch: Launch) -> Iterator[FieldError]:
    """Report data-parallel ranks that Ray does not spread over the pods.

    With the default backend, `mp`, vLLM starts every rank as a process on the leader
    (`vllm/engine/arg_utils.py`: the local size defaults to the whole), and Ray places the first accelerator
    of each on that node (`vllm/v1/executor/ray_utils.py`, `initialize_ray_cluster`). With `ray` the local
    size must fit the leader (`vllm/v1/engine/utils.py`, `create_dp_placement_groups`), and a rank its node.
    """
    flags, sizes, pod = launch.command.flags, read_sizes(launch), countable(launch.engine)
    flag = flags.last(DATA)
    if flag is None or sizes is None or sizes.data == 1 or launch.command.engine != "vllm":
        return
    if flags.last(DATA_BACKEND) or (pod is not None and sizes.accelerators <= pod):
        return
    local = pod // (sizes.accelerators // sizes.data) if pod else 1
    asked = "" if flags.last(LOCAL_DATA) else f" --{LOCAL_DATA} {local}"
    advice = f"add --{DATA_BACKEND} ray{asked}" if local else f"raise --{PIPELINE} instead"
    message = f"{quoted(launch, flag)} starts all ranks on the leader; {advice}"
    yield FieldError(argument_path(launch, flag.value_at), None, message, "FI541")


def _different(plan: LaunchPlan) -> Iterator[FieldError]:
    """Report leader and workers of one engine with different images or variables."""
    leader, worker, where = plan.leader.engine, plan.worker.engine, plan.worker.template.engine_path
    if leader.image != worker.image:
        message = "differs from the leader's image, but one engine runs over all pods: use one image"
        yield FieldError(f"{where}.image", None, message, "FI513")
    if differ := sorted(set(leader.env) ^ set(worker.env)):
        message = f"set in one of the two templates only: {', '.join(differ)}; set it in both"
        yield FieldError(f"{where}.env", None, message, "FI513")


# --- containers ---------------------------------------------------------------------------------------

_LACKING: Final = {
    "FI331": "must be the name of a volume: add {} to spec.volumes of this template",
    "FI338": "must be the name of a claim: add {} to spec.resourceClaims of this template",
    "FI332": "is required: the API server refuses a pod with a container that has none",
}
_TAKEN: Final = "must be another name: an init container of this name is injected"
_INJECTED: Final = "fusioninfer-"
"""Beginning of the names of the volumes that hold models and adapters."""
_WITH_IMAGES: Final = (1, 31)
"""The first release of Kubernetes with image volumes (KEP-4639); they are on by default from 1.35."""
_VERSION: Final = re.compile(r"v?([0-9]+)\.([0-9]+)")
_VARIABLES: Final = ("HF_HOME", "HF_HUB_CACHE", "HF_TOKEN")


def containers(inputs: Input) -> Iterator[FieldError]:
    """Report what a container uses and its pod lacks, missing images, and names that are taken."""
    intent, plan, injected = inputs.intent, inputs.plan, set[str]()
    has_volumes = bool(intent.model or intent.lora)
    if plan.rewritten and LAUNCHERS[plan.launcher].resolves and "dns" in inputs.concerns:
        injected.add(WAIT_FOR_LEADER)
    if intent.model and intent.artifact and intent.artifact.is_downloaded and "model" in inputs.concerns:
        injected.add(INITIALIZER)
    for template in intent.templates:
        where, pod = f"{template.path}.spec", template.pod.value
        for below, name, code in pod.lacking:
            if not (has_volumes and name.startswith(_INJECTED)):
                yield FieldError(f"{where}.{below}", name or None, _LACKING[code].format(name[:SHOWN]), code)
        for index, name in enumerate(pod.containers):
            if name in injected:
                yield FieldError(f"{where}.containers[{index}].name", name, _TAKEN, "FI320")


def model(inputs: Input) -> Iterator[FieldError]:
    """Check the annotations about model and adapters against cluster and templates, not against arguments."""
    intent = inputs.intent
    yield from _without_effect(intent)
    if not (intent.model or intent.lora):
        return
    artifact, adapters = intent.artifact, intent.adapters.adapters
    of_model = [artifact.uri] if artifact else []
    for key, uris in ((MODEL, of_model), (LORA, [adapter.uri for adapter in adapters])):
        if any(uri.scheme == "oci" for uri in uris):
            yield from _image_volumes(inputs.settings.kubernetes_version, key)
    for template in intent.templates:
        if artifact and "model" in inputs.concerns:
            yield from _own_parts(template, artifact)
        for adapter in adapters if "lora" in inputs.concerns else ():
            if template.engine and adapter.mount in template.engine.mounts:
                yield _own_mount(template, adapter.mount, adapter.uri)


def _without_effect(intent: Intent) -> Iterator[FieldError]:
    """FI112: further annotations about a model act on it; LoRA adapters may use the Secret."""
    model = intent.artifact
    scheme = model.uri.scheme if model else ""
    why = f"with {scheme}://: remove it" if model else f"without {MODEL}: add it"
    has_no_use = scheme in NEED_NO_SECRET or not model
    is_kept = model is not None and bool(model.cache.claim) and scheme in DOWNLOADED
    rows = (
        (MODEL_NAME, intent.model_name, not model),
        (MODEL_SECRET, intent.model_secret, has_no_use and not intent.adapters.use_secret),
        (MODEL_CACHE, intent.model_cache, not model or scheme in KEPT_ELSEWHERE or is_kept),
    )
    for key, value, is_vain in rows:
        if value and is_vain:
            yield FieldError(path(key), value, f"has no effect {why}", "FI112")


def _image_volumes(version: str, key: str) -> Iterator[FieldError]:
    """Report a cluster that mounts no images; `key` is the annotation that has one."""
    match = _VERSION.match(version)
    if match and (int(match[1]), int(match[2])) < _WITH_IMAGES:
        message = f"must not be oci://: Kubernetes {version[:SHOWN]} mounts no images; use pvc:// or s3://"
        yield FieldError(path(key), None, message, "FI323")


def _own_parts(template: Template, model: Model) -> Iterator[FieldError]:
    """Report an author's own download of another model, and their mount and variables, which are used."""
    wanted, own = (model.uri.text, MODELS), template.downloads if model.is_downloaded else None
    if own is not None and own[: len(wanted)] != wanted:
        message = f"{INITIALIZER} must have the args [{', '.join(wanted)}], as {MODEL} says"
        yield FieldError(f"{template.path}.spec.initContainers", None, message, "FI321")
    engine = template.engine
    if engine is None:
        return
    if model.mounted_by_author(engine.mounts, engine.model_mounts):
        yield _own_mount(template, model.mount, model.uri)
    variables = _VARIABLES if model.secret else _VARIABLES[:2]
    if named := [name for name in variables if model.is_cached and name in engine.env]:
        message = f"{', '.join(named)} is your own, which is used: {MODEL} may have no effect on it"
        yield FieldError(f"{template.engine_path}.env", None, message, "FI544")


def _own_mount(template: Template, mount: str, uri: Uri) -> FieldError:
    message = f"{mount} is a mount of your own, which is used: {uri.text[:SHOWN]} is not mounted"
    return FieldError(f"{template.engine_path}.volumeMounts", None, message, "FI544")
