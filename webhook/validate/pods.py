"""The pods around a launch: what its author set that a group of pods cannot live with."""

from collections.abc import Iterator
from typing import Final

from intent.annotations import SKIP
from intent.command_line.flags import PIPELINE
from intent.errors import FieldError
from intent.launch import Launch, LaunchPlan, countable, read_size
from intent.lws import LWT, Intent
from intent.names import WAIT_FOR_LEADER
from intent.transfer import read_transfer
from webhook.launchers.launcher import Launcher

SHM: Final = "/dev/shm"  # noqa: S108 - a path in the container
_DEVICES: Final = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_NOT_DEVICES: Final = frozenset({"", "all", "none", "void"})
_SIDE_CHANNEL: Final = "VLLM_NIXL_SIDE_CHANNEL_HOST"
_UNREACHABLE: Final = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::", "::1"})  # noqa: S104 - compared
_RECREATES: Final = ("", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart")


def pods(plan: LaunchPlan, launcher: Launcher, intent: Intent) -> Iterator[FieldError]:
    """Check the group, then every pod template."""
    yield from _restart(intent)
    yield from _subgroups(plan, intent)
    yield from _difference(plan)
    for launch in plan.launches:
        if launcher.resolves and "dns" not in intent.skip:
            yield from _name_taken(launch)
        yield from _requests(launch)
        yield from _shared_memory(launch, intent)
        yield from _side_channel(launch)
        if launcher.uses_ray:
            yield from _ray(launch)
            yield from _devices(launch)


def _restart(intent: Intent) -> Iterator[FieldError]:
    if intent.restart_policy not in _RECREATES:
        message = "a pod that restarts alone does not get back into its engine: use RecreateGroupOnPodRestart"
        yield FieldError(f"{LWT}.restartPolicy", None, message, "FI510")


def _subgroups(plan: LaunchPlan, intent: Intent) -> Iterator[FieldError]:
    """Compare subgroups, which are placed together, with the pods of a pipeline stage."""
    stages = read_size(plan.leader, PIPELINE) or 1
    pods, rest = divmod(intent.size, stages)
    if intent.subgroup_size > 0 and not rest and intent.subgroup_size % pods and pods % intent.subgroup_size:
        message = f"a pipeline stage is {pods} pods: use a multiple or a part of that"
        yield FieldError(f"{LWT}.subGroupPolicy.subGroupSize", None, message, "FI510")


def _difference(plan: LaunchPlan) -> Iterator[FieldError]:
    leader, worker = plan.leader.engine, plan.worker.engine
    if leader.image != worker.image:
        message = "the leader's image is another one: the engine is one, over all pods"
        yield FieldError(f"{plan.worker.template.engine_path}.image", None, message, "FI513")
    if differ := sorted(set(leader.env) ^ set(worker.env)):
        message = f"set for the leader or the workers only: {', '.join(differ)[:60]}"
        yield FieldError(f"{plan.worker.template.engine_path}.env", None, message, "FI513")


def _name_taken(launch: Launch) -> Iterator[FieldError]:
    """Find a container that has the name of the init container that is put on: no such pod is made."""
    names, where = launch.template.pod.containers, f"{launch.template.path}.spec.containers"
    if WAIT_FOR_LEADER in names:
        message = f"must be another name: an init container is put on under it; or set {SKIP}: dns"
        yield FieldError(f"{where}[{names.index(WAIT_FOR_LEADER)}].name", WAIT_FOR_LEADER, message, "FI320")


def _requests(launch: Launch) -> Iterator[FieldError]:
    if unasked := launch.engine.unasked:
        message = f"asks for no {' and no '.join(unasked)}: the pod may be placed where too little is left"
        yield FieldError(f"{launch.template.engine_path}.resources", None, message, "FI528")


def _shared_memory(launch: Launch, intent: Intent) -> Iterator[FieldError]:
    """Find a pod for which no memory is mounted at /dev/shm, since its author does not want it."""
    has_own = launch.template.host_ipc or any(path.rstrip("/") == SHM for path in launch.engine.mounts)
    if "shm" in intent.skip and not has_own:
        message = f"{SHM} has 64 MiB, which NCCL and Ray outgrow: mount memory there, or do not skip shm"
        yield FieldError(f"{launch.template.engine_path}.volumeMounts", None, message, "FI510")


def _side_channel(launch: Launch) -> Iterator[FieldError]:
    found = read_transfer(launch)
    host = dict(launch.engine.values).get(_SIDE_CHANNEL)
    if found and "NixlConnector" in found.connectors and host in _UNREACHABLE:
        message = f"{_SIDE_CHANNEL} is {host}: no other pod reaches it; leave it out, and it is the pod's IP"
        yield FieldError(f"{launch.template.engine_path}.env", None, message, "FI508")


def _ray(launch: Launch) -> Iterator[FieldError]:
    """Check what Ray needs: a place of its own in the pod, time to stop, and /tmp."""
    pod, spec = launch.template.pod, f"{launch.template.path}.spec"
    if pod.host_network:
        message = "two pods of a group on one node would share Ray's ports, and take each other for the head"
        yield FieldError(f"{spec}.hostNetwork", None, message, "FI510")
    if pod.shared_processes:
        message = "Ray does not start where it sees another Ray: leave the containers their own processes"
        yield FieldError(f"{spec}.shareProcessNamespace", None, message, "FI510")
    if pod.grace < 30:
        message = "Ray takes about 25 seconds to stop: leave it at 30 or more"
        yield FieldError(f"{spec}.terminationGracePeriodSeconds", None, message, "FI510")
    if launch.engine.read_only and not any(path.startswith("/tmp") for path in launch.engine.mounts):  # noqa: S108 - a path in the container
        message = "Ray writes to /tmp: mount an emptyDir there"
        where = f"{launch.template.engine_path}.securityContext.readOnlyRootFilesystem"
        yield FieldError(where, None, message, "FI510")


def _devices(launch: Launch) -> Iterator[FieldError]:
    """Compare the devices that are named with those that are asked for: Ray's head ends without an error."""
    there = countable(launch.engine)
    for name, value in launch.engine.values:
        named = 0 if value in _NOT_DEVICES else len(value.split(","))
        if name in _DEVICES and there and named and named != there:
            message = f"{name} names {named}, the pod asks for {there}: Ray's head ends without an error"
            yield FieldError(f"{launch.template.engine_path}.env", None, message, "FI510")
