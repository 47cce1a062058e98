"""Causes in pods: images, crashes, memory, volumes, init containers, readiness."""

import re
from collections.abc import Iterator
from typing import Final

from catalog.codes import CODES
from fusioninfer.cluster.text import name_of
from fusioninfer.cluster.why.case import Case
from fusioninfer.cluster.why.cause import Cause, Effect, cause
from intent import Object
from intent.errors import counted
from intent.shapes import listed, mapping, number, text
from sync.observed.condition import shortened
from sync.observed.pod import CRASHED, ObservedPod, project

TELLING: Final = re.compile(r"\b(\w*(Error|Exception)|error|fatal|panic|Killed)\b")
"""A line of a log that names an error."""
SOURCES: Final = ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "NetworkNotReady")
"""Reasons of Events about a pod whose containers are not started."""


def pods(case: Case) -> Iterator[Cause]:
    """Return why pods on nodes are not ready: what fails before what starts, the earliest failure first."""
    own = [pod for lws in case.sets for pod in case.pods_of(name_of(lws))]
    failing = [(pod, project(pod)) for pod in own if project(pod).failure]
    for pod, seen in sorted(failing, key=lambda pair: _precedence(*pair)):
        yield _failed(pod, seen, case)
    names = {seen.name for _, seen in failing}
    starting = [pod for pod in own if name_of(pod) not in names and _is_starting(pod)]
    for pod in sorted(starting, key=_running):  # one that runs may wait for one that does not
        yield _starting(pod, case)


def _precedence(pod: Object, seen: ObservedPod) -> tuple[bool, str, str]:
    """Return the order of failures: a container that never ran, then the one that ended first."""
    code = seen.failure.code if seen.failure else CRASHED
    ended = min((text(one.get("finishedAt")) for one in _ends(pod) if one.get("finishedAt")), default="")
    return code == CRASHED, ended, seen.name


def _ends(pod: Object) -> Iterator[Object]:
    """Yield how containers of a pod ended: the state now, and the last one."""
    for one in _containers(pod):
        for key in ("state", "lastState"):
            if ended := mapping(mapping(one.get(key)).get("terminated")):
                yield ended


def _containers(pod: Object, *keys: str) -> list[Object]:
    status = mapping(pod.get("status"))
    chosen = keys or ("initContainerStatuses", "containerStatuses")
    return [mapping(one) for key in chosen for one in listed(status.get(key))]


def _failed(pod: Object, seen: ObservedPod, case: Case) -> Cause:
    """Return the cause of a failing pod, with the telling line of its log."""
    failure = seen.failure
    assert failure is not None  # noqa: S101 - the caller chose the failing ones
    code, name = failure.code, seen.name
    about = f"Pod {name}"
    status = next((one for one in _containers(pod) if one.get("name") == failure.container), {})
    kind = "init container" if status in _containers(pod, "initContainerStatuses") else "container"
    where = f"{kind} {failure.container}: " if failure.container else ""
    message = (
        f"{where}{failure.reason}{_ending(status) or (f': {failure.message}' if failure.message else '')}"
    )
    effect = _effect(seen, case)
    if any(one.get("reason") == "OOMKilled" for one in _ends(pod)):
        return cause("OutOfMemory", about, f"{message} (OOMKilled)", effect)
    log = case.read.logs.get((name, failure.container), "")
    if line := telling_line(log):
        message = f"{message}; its log: {line}"
    return Cause("pods", code, about, message, CODES[code].remedy.replace("POD", name), effect)


def telling_line(log: str) -> str:
    """Return the last line of a log that names an error; the last line if none does."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return shortened(next((line for line in reversed(lines) if TELLING.search(line)), last))


def _ending(status: Object) -> str:
    """Return how a container ended last, and how often it was restarted."""
    ended = mapping(mapping(status.get("lastState")).get("terminated"))
    if not ended:
        return ""
    why, code = text(ended.get("reason")) or "Error", number(ended.get("exitCode"))
    return f": ended with code {code} ({why}), {counted(number(status.get('restartCount')), 'restart')}"


def _effect(seen: ObservedPod, case: Case) -> Effect:
    """Return whether the role of a pod has no replica that serves, or fewer than desired."""
    role = next((one for one in case.observed.roles if seen in one.all_pods), None)
    serves = role is not None and (role.ready or not role.desired)
    return "degrades" if serves else "blocks"


# --- pods that start --------------------------------------------------------------------------------


def _is_starting(pod: Object) -> bool:
    seen = project(pod)
    return seen.scheduled and not seen.ready and not seen.deleting


def _starting(pod: Object, case: Case) -> Cause:
    about, effect = f"Pod {name_of(pod)}", _effect(project(pod), case)
    trouble = [one for one in case.warnings("Pod", name_of(pod)) if one.get("reason") in SOURCES]
    if trouble and not _running(pod):
        message = f"{text(trouble[0].get('reason'))}: {shortened(trouble[0].get('message'))}"
        return cause("ContainerNotStarted", about, message, effect)
    init = next((one for one in _containers(pod, "initContainerStatuses") if _is_running(one)), None)
    if init:
        message = f"init container {text(init.get('name'))} runs since {_since(init)}"
        return cause("InitContainerRunning", about, message, effect)
    return cause("NotReady", about, _unready(pod, case), effect)


def _is_running(container: Object) -> bool:
    return bool(mapping(container.get("state")).get("running"))


def _running(pod: Object) -> bool:
    found = _containers(pod, "containerStatuses")
    return bool(found) and all(map(_is_running, found))


def _since(container: Object) -> str:
    return text(mapping(mapping(container.get("state")).get("running")).get("startedAt")) or "its start"


def _unready(pod: Object, case: Case) -> str:
    """Return which container is not ready, and what its probe said last."""
    waiting = [one for one in _containers(pod, "containerStatuses") if one.get("ready") is not True]
    names = ", ".join(text(one.get("name")) for one in waiting) or "its containers"
    if not _running(pod):
        return f"{names}: not started yet"
    probe = next(
        (one for one in case.warnings("Pod", name_of(pod)) if one.get("reason") == "Unhealthy"), None
    )
    said = f"; {shortened(probe.get('message'))}" if probe else ""
    return f"{names}: running since {_since(waiting[0]) if waiting else 'its start'}, and not ready{said}"
