"""Causes in pods: images, crashes, memory, volumes, init containers, readiness."""

import re
from collections.abc import Iterator
from typing import Final

from catalog.codes import CODES
from fusioninfer.cluster.why.case import Case, Cause, Effect, cause
from intent import Object
from intent.errors import counted
from intent.shapes import listed, mapping, number, text
from sync.observed.condition import shortened
from sync.observed.pod import CRASHED, Failure, ObservedPod, project

START: Final = "its start"
INIT: Final = "initContainerStatuses"
MAIN: Final = "containerStatuses"
TELLING: Final = re.compile(r"\b(\w*(Error|Exception)|error|fatal|panic|Killed)\b")
"""A line of a log that names an error."""
SOURCES: Final = ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "NetworkNotReady")
"""Reasons of Events about a pod whose containers are not started."""


def pods(case: Case) -> Iterator[Cause]:
    """Return why pods on nodes are not ready: what fails before what starts, the earliest failure first."""
    own = [(pod, project(pod)) for lws in case.sets for pod in case.pods_of(lws)]
    failing = [(pod, seen, failure) for pod, seen in own if (failure := seen.failure)]
    for pod, seen, failure in sorted(failing, key=lambda row: _precedence(*row)):
        yield _failed(pod, seen, failure, case)
    starting = [
        (pod, seen)
        for pod, seen in own
        if seen.scheduled and not (seen.failure or seen.ready or seen.deleting)
    ]
    for pod, seen in sorted(starting, key=lambda row: _runs(row[0])):  # one may wait for one that does not
        yield _starting(pod, seen, case)


def _precedence(pod: Object, seen: ObservedPod, failure: Failure) -> tuple[bool, str, str]:
    """Return the order of failures: a container that never ran, then the one that ended first."""
    times = [text(ended.get("finishedAt")) for ended in _ends(pod)]
    return failure.code == CRASHED, min(filter(None, times), default=""), seen.name


def _containers(pod: Object, *keys: str) -> list[Object]:
    status = mapping(pod.get("status"))
    return [mapping(container) for key in keys for container in listed(status.get(key))]


def _ends(pod: Object) -> list[Object]:
    """Return how containers of a pod ended: the state now, and the last one."""
    states = (mapping(one.get(key)) for one in _containers(pod, INIT, MAIN) for key in ("state", "lastState"))
    return [ended for state in states if (ended := mapping(state.get("terminated")))]


def _failed(pod: Object, seen: ObservedPod, failure: Failure, case: Case) -> Cause:
    """Return the cause of a failing pod, with the telling line of its log."""
    about, effect = f"Pod {seen.name}", _effect(seen, case)
    named = {text(one.get("name")): one for one in _containers(pod, MAIN, INIT)}
    status = named.get(failure.container, {})
    kind = "init container" if status in _containers(pod, INIT) else "container"
    where = f"{kind} {failure.container}: " if failure.container else ""
    ending = _ending(status) or (f": {failure.message}" if failure.message else "")
    message = f"{where}{failure.reason}{ending}"
    if any(ended.get("reason") == "OOMKilled" for ended in _ends(pod)):
        return cause("OutOfMemory", about, f"{message} (OOMKilled)", effect)
    if line := telling_line(case.logs.get((seen.name, failure.container), "")):
        message = f"{message}; its log: {line}"
    remedy = CODES[failure.code].remedy.replace("POD", seen.name)
    return Cause("pods", failure.code, about, message, remedy, effect)


def telling_line(log: str) -> str:
    """Return the last line of a log that names an error; the last line if none does."""
    lines = [line.strip() for line in reversed(log.splitlines()) if line.strip()]
    return shortened(next(filter(TELLING.search, lines), lines[0] if lines else ""))


def _ending(status: Object) -> str:
    """Return how a container ended last, and how often it was restarted."""
    ended = mapping(mapping(status.get("lastState")).get("terminated"))
    if not ended:
        return ""
    why, code = text(ended.get("reason")) or "Error", number(ended.get("exitCode"))
    return f": ended with code {code} ({why}), {counted(number(status.get('restartCount')), 'restart')}"


def _effect(seen: ObservedPod, case: Case) -> Effect:
    """Return whether the role of a pod has no replica that serves, or fewer than desired."""
    role = next((role for role in case.observed.roles if seen in role.all_pods), None)
    serves = role is not None and (role.ready or not role.desired)
    return "degrades" if serves else "blocks"


# --- pods that start --------------------------------------------------------------------------------


def _starting(pod: Object, seen: ObservedPod, case: Case) -> Cause:
    about, effect, events = f"Pod {seen.name}", _effect(seen, case), case.warnings("Pod", seen.name)
    trouble = next((event for event in events if event.get("reason") in SOURCES), None)
    if trouble and not _runs(pod):
        message = f"{text(trouble.get('reason'))}: {shortened(trouble.get('message'))}"
        return cause("ContainerNotStarted", about, message, effect)
    for init in _containers(pod, INIT):
        if since := _since(init):
            message = f"init container {text(init.get('name'))} runs since {since}"
            return cause("InitContainerRunning", about, message, effect)
    waiting = [container for container in _containers(pod, MAIN) if container.get("ready") is not True]
    names = ", ".join(text(container.get("name")) for container in waiting) or "its containers"
    if not _runs(pod):
        return cause("NotReady", about, f"{names}: not started yet", effect)
    probe = next((event for event in events if event.get("reason") == "Unhealthy"), None)
    said = f"; {shortened(probe.get('message'))}" if probe else ""
    since = _since(waiting[0]) if waiting else START
    message = f"{names}: running since {since}, and not ready{said}"
    return cause("NotReady", about, message, effect)


def _runs(pod: Object) -> bool:
    containers = _containers(pod, MAIN)
    return bool(containers) and all(map(_since, containers))


def _since(container: Object) -> str:
    """Return since when a container runs; empty if it does not."""
    running = mapping(mapping(container.get("state")).get("running"))
    return (text(running.get("startedAt")) or START) if running else ""
