"""The pods of a launch: restart policy, namespaces, memory and variables that break a multi-node engine."""

from collections.abc import Iterator
from typing import Final

from intent.errors import FieldError
from intent.launch import SHARED_MEMORY, SHOWN, Launch, LaunchPlan, countable, has_memory
from intent.lws import LWT, Intent
from webhook.launchers.launcher import Launcher
from webhook.layout import Input

_DEVICES: Final = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_NOT_DEVICES: Final = frozenset({"", "all", "none", "void"})
_RECREATES: Final = ("", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart")


def pods(inputs: Input, launcher: Launcher) -> Iterator[FieldError]:
    """Check the group, then every pod template."""
    intent, plan = inputs.intent, inputs.plan
    yield from restart(intent)
    yield from _difference(plan)
    for launch in plan.launches:
        yield from names(launch)
        yield from _shared_memory(launch, inputs)
        if launcher.uses_ray:
            yield from _network(launch)
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


def _network(launch: Launch) -> Iterator[FieldError]:
    """Report Ray on the network of the node, where two pods of a group may meet."""
    if launch.template.pod.value.host_network:
        message = "two pods of a group on one node would share Ray's ports: remove hostNetwork"
        yield FieldError(f"{launch.template.path}.spec.hostNetwork", None, message, "FI510")


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
