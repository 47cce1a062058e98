"""The pods of a launch: restart policy, namespaces, memory and variables that break a multi-node engine."""

from collections.abc import Callable, Iterator
from typing import Final

from intent.command_line.flags import PIPELINE
from intent.errors import FieldError
from intent.launch import SHARED_MEMORY, SHOWN, Launch, LaunchPlan, countable, has_memory, read_size
from intent.lws import LWT, Intent, Pod
from webhook.launchers.launcher import Launcher
from webhook.layout import Input

_DEVICES: Final = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_NOT_DEVICES: Final = frozenset({"", "all", "none", "void"})
_RECREATES: Final = ("", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart")


def pods(inputs: Input, launcher: Launcher) -> Iterator[FieldError]:
    """Check the group, then every pod template."""
    intent, plan = inputs.intent, inputs.plan
    yield from restart(intent)
    yield from _subgroups(plan, intent)
    yield from _difference(plan)
    for launch in plan.launches:
        yield from names(launch)
        yield from _shared_memory(launch, inputs)
        if launcher.uses_ray:
            yield from _ray(launch)
            yield from _devices(launch)


def restart(intent: Intent) -> Iterator[FieldError]:
    """Report a restart policy with which a pod restarts alone."""
    if intent.restart_policy not in _RECREATES:
        message = (
            f"{intent.restart_policy[:SHOWN]} restarts a pod alone, which cannot rejoin the engine: "
            "use RecreateGroupOnPodRestart"
        )
        yield FieldError(f"{LWT}.restartPolicy", None, message, "FI510")


def names(launch: Launch) -> Iterator[FieldError]:
    """Report a pod that cannot resolve the leader's name: with hostNetwork it asks the node's resolver."""
    if not launch.template.pod.value.host_dns:
        message = "hostNetwork without it cannot resolve the leader's name: set ClusterFirstWithHostNet"
        yield FieldError(f"{launch.template.path}.spec.dnsPolicy", None, message, "FI510")


def _subgroups(plan: LaunchPlan, intent: Intent) -> Iterator[FieldError]:
    """Compare the subgroup size with the number of pods of a pipeline stage."""
    stages = read_size(plan.leader, PIPELINE) or 1
    pods, rest = divmod(intent.size, stages)
    if intent.subgroup_size > 0 and not rest and intent.subgroup_size % pods and pods % intent.subgroup_size:
        message = (
            f"subGroupSize is {intent.subgroup_size}, but a pipeline stage has {pods} pods: "
            "use a multiple or a divisor of that"
        )
        yield FieldError(f"{LWT}.subGroupPolicy.subGroupSize", None, message, "FI510")


def _difference(plan: LaunchPlan) -> Iterator[FieldError]:
    leader, worker = plan.leader.engine, plan.worker.engine
    if leader.image != worker.image:
        message = "differs from the leader's image, but one engine runs over all pods: use one image"
        yield FieldError(f"{plan.worker.template.engine_path}.image", None, message, "FI513")
    if differ := sorted(set(leader.env) ^ set(worker.env)):
        message = f"set in one of the two templates only: {', '.join(differ)}; set it in both"
        yield FieldError(f"{plan.worker.template.engine_path}.env", None, message, "FI513")


def _shared_memory(launch: Launch, inputs: Input) -> Iterator[FieldError]:
    """Report a pod without memory at /dev/shm whose author skips the volume."""
    if "shm" not in inputs.concerns and not has_memory(launch):
        message = (
            f"{SHARED_MEMORY} has 64 MiB, too little for NCCL and Ray: mount memory there, or do not skip shm"
        )
        yield FieldError(f"{launch.template.engine_path}.volumeMounts", None, message, "FI510")


_OF_RAY: Final[tuple[tuple[str, Callable[[Pod], bool], str], ...]] = (
    (
        "hostNetwork",
        lambda pod: pod.host_network,
        "two pods of a group on one node would share Ray's ports: remove hostNetwork",
    ),
    (
        "shareProcessNamespace",
        lambda pod: pod.shared_processes,
        "Ray does not start beside another Ray process: do not share the process namespace",
    ),
    (
        "terminationGracePeriodSeconds",
        lambda pod: pod.grace < 30,
        "Ray takes about 25 seconds to stop: set 30 or more",
    ),
)
"""The fields of a pod that do not suit Ray, when, and why."""


def _ray(launch: Launch) -> Iterator[FieldError]:
    """Check Ray's needs of a pod, and a writable /tmp."""
    for field, is_wrong, message in _OF_RAY:
        if is_wrong(launch.template.pod.value):
            yield FieldError(f"{launch.template.path}.spec.{field}", None, message, "FI510")
    if launch.engine.read_only and not any(path.startswith("/tmp") for path in launch.engine.mounts):  # noqa: S108 - a path in the container
        where = f"{launch.template.engine_path}.securityContext.readOnlyRootFilesystem"
        yield FieldError(where, None, "Ray writes to /tmp: mount an emptyDir there", "FI510")


def _devices(launch: Launch) -> Iterator[FieldError]:
    """Compare the devices in the environment with the requested ones: Ray's head exits without an error."""
    there = countable(launch.engine)
    for name, value in launch.engine.values:
        named = 0 if value in _NOT_DEVICES else len(value.split(","))
        if name in _DEVICES and there and named and named != there:
            message = (
                f"{name} names {named}, the pod requests {there}: Ray exits without an error; remove {name}"
            )
            yield FieldError(f"{launch.template.engine_path}.env", None, message, "FI510")
