"""Projection of a pod: its group, whether it is scheduled and ready, and why not."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from intent import Object
from intent.accelerators import read
from intent.annotations import (
    ACTIVE_PORTS,
    COMPONENT_TYPE,
    GROUP_INDEX,
    GROUP_NAME,
    GROUP_SIZE,
    LWS_NAME,
    SERVING_LABELS,
)
from intent.container import generation_of
from intent.shapes import EMPTY, listed, mapping, number, text
from sync.observed.cached import Row, identity, shared
from sync.observed.condition import shortened

AcceleratorCounts = tuple[tuple[str, int], ...]
"""Resources and their amounts, sorted by name."""

CRASHED: Final = "FI412"
FAILURES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("CrashLoopBackOff", "RunContainerError", "PostStartHookError"), CRASHED),
    **dict.fromkeys(("ImagePullBackOff", "ErrImagePull", "InvalidImageName"), "FI413"),
    **dict.fromkeys(("ErrImageNeverPull", "ImageInspectError"), "FI413"),
    **dict.fromkeys(("CreateContainerConfigError", "CreateContainerError"), "FI414"),
}
"""Reasons of a waiting container that do not resolve with time, with their codes (kubelet
`pkg/kubelet/images/types.go`, `pkg/kubelet/container/sync_result.go`,
`pkg/kubelet/kuberuntime/kuberuntime_container.go`)."""
CRASHES: Final = 2
"""Restarts from which a container that runs again, and is not ready, still counts as crashing.

The kubelet backs off after the first restart, so every later attempt has at least this count: between
two back-offs the pod looks like one that starts for the first time.
"""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a container does not run."""

    container: str
    reason: str
    """The kubelet's reason, such as `CrashLoopBackOff`."""
    message: str = ""

    @property
    def code(self) -> str:
        """The code of its reason; a pod that failed as a whole has that of a crash."""
        return FAILURES.get(self.reason, CRASHED)


@dataclass(frozen=True, slots=True)
class ObservedPod(Row):
    """One pod."""

    lws: str = ""
    """The LeaderWorkerSet that it belongs to."""
    pod_group: str = ""
    """The PodGroup that it names."""
    group: str = ""
    """The index of its group, from its label."""
    group_size: int = 0
    """The size of its group, from its annotation: that of the revision it is of. 0: unknown."""
    ready: bool = False
    scheduled: bool = False
    held: str = ""
    """Why it is not scheduled: the scheduler's message."""
    accelerators: AcceleratorCounts = ()
    failure: Failure | None = None
    deleting: bool = False
    component_type: str = ""
    everywhere: bool = False
    """Whether it says that every pod of its group serves."""
    ports: str = ""
    """The ports that it says it serves on, if they are several."""
    sidecar: str = ""
    """The endpoint picker generation of its routing sidecar; empty without a known one."""


def project(obj: Object) -> ObservedPod:
    """Project a pod."""
    metadata, spec, status = (mapping(obj.get(key)) for key in ("metadata", "spec", "status"))
    labels = mapping(metadata.get("labels"))
    found = {text(one.get("type")): one for one in map(mapping, listed(status.get("conditions")))}
    ready, placed = found.get("Ready", EMPTY), found.get("PodScheduled", EMPTY)
    deleting = bool(metadata.get("deletionTimestamp"))
    return ObservedPod(
        **identity(obj),
        lws=shared(labels.get(LWS_NAME)),
        pod_group=shared(mapping(metadata.get("annotations")).get(GROUP_NAME)),
        group=shared(labels.get(GROUP_INDEX)),
        group_size=_group_size(metadata),
        ready=ready.get("status") == "True",
        scheduled=bool(text(spec.get("nodeName"))),
        held=shortened(placed.get("message")) if placed.get("status") == "False" else "",
        accelerators=_accelerators(spec),
        failure=_failure(status, deleting=deleting),
        deleting=deleting,
        component_type=shared(labels.get(COMPONENT_TYPE)),
        everywhere=SERVING_LABELS.items() <= labels.items(),
        ports=shared(mapping(metadata.get("annotations")).get(ACTIVE_PORTS[0])),
        sidecar=generation_of(spec),
    )


def _group_size(metadata: Object) -> int:
    """Read the size of the group, which LeaderWorkerSet writes on each pod; 0 if it is no number."""
    size = text(mapping(metadata.get("annotations")).get(GROUP_SIZE))
    return int(size) if size.isdecimal() and len(size) < 10 else 0


def _accelerators(spec: Object) -> AcceleratorCounts:
    """Return the sum of what the containers of a pod request."""
    total: Counter[str] = Counter()
    for container in listed(spec.get("containers")):
        requested = read(mapping(container).get("resources"), "", [])
        if requested.resource:
            total[requested.resource] += requested.count
    return _one(tuple(sorted(total.items())))


@lru_cache(maxsize=128)
def _one(amounts: AcceleratorCounts) -> AcceleratorCounts:
    """Return equal amounts, which most pods of a cluster have, as one object in memory."""
    return amounts


# --- what keeps it from running ---------------------------------------------------------------------


def _failure(status: Object, *, deleting: bool) -> Failure | None:
    """Return the first failing container; for a pod that failed as a whole, its reason.

    LeaderWorkerSet deletes the group of a pod at its first restart (`pkg/controllers/pod_controller.go`,
    `handleRestartPolicy`). There is no other sign of the crash, so in a pod that is being deleted one restart
    is enough, and nothing else counts.
    """
    lists = (listed(status.get(key)) for key in ("initContainerStatuses", "containerStatuses"))
    containers = (mapping(one) for found in lists for one in found)
    failures = (one for container in containers for one in _failures(container, deleting=deleting))
    first = next(failures, None)
    if first is None and not deleting and status.get("phase") == "Failed":
        return Failure("", text(status.get("reason")) or "Failed", shortened(status.get("message")))
    return first


def _failures(container: Object, *, deleting: bool) -> Iterator[Failure]:
    """Yield why a container waits, and how it ended last if it has restarted often enough."""
    name, waiting = text(container.get("name")), mapping(mapping(container.get("state")).get("waiting"))
    reason = text(waiting.get("reason"))
    if reason in FAILURES and not deleting:
        yield Failure(name, reason, shortened(waiting.get("message")))
    ended = mapping(mapping(container.get("lastState")).get("terminated"))
    restarts, code = number(container.get("restartCount")), number(ended.get("exitCode"))
    if restarts >= (1 if deleting else CRASHES) and code and container.get("ready") is not True:
        message = f"ended with code {code} ({text(ended.get('reason')) or 'Error'})"
        yield Failure(name, "CrashLoopBackOff", message)
