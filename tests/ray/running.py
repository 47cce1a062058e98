"""Run the pods of a group, each in a network namespace, on a switch with a name server of the group's own."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from intent import Object
from tests.builders import netns
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.processes import LOG_LIMIT, Process, alive, kill, spawn, tail
from tests.cluster.testbed.wait import until
from tests.ray.group import DOMAIN, NAMESPACE, Pod, leader_record, pods

FILES: Final = {
    "resolv.conf": f"""\
nameserver {netns.ROUTER}
search {NAMESPACE}.{DOMAIN} {DOMAIN} cluster.local
options ndots:5
""",
    "nsswitch.conf": "hosts: files dns\n",
}
"""As the kubelet writes them, and as engine images have them."""
IMAGE: Final = {"HOME": "/tmp", "RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES": "100000000"}  # noqa: S108 - the pod's
"""Variables of the image. Ray takes 100 MB of memory for objects; it would take a third of the machine's."""
STAND_IN: Final = Path(__file__).with_name("stand_in.py")
TIMED_OUT: Final = "The current node timed out during startup"
"""What Ray says when a node has not started within 30 s (`ray/_private/node.py`; the limit cannot be set)."""
STARTS: Final = 3
"""How often a group is started whose nodes time out. LWS recreates a group as often as its pods fail."""


@dataclass(slots=True)
class Group:
    """A group that runs: its pods in order of rank, and where their files are."""

    lws: Object
    programs: Path
    folder: Path
    late: float
    image: Mapping[str, str]
    stand_in: Path | None
    switch: Process
    pods: tuple[Process, ...] = ()


@contextmanager
def running(
    lws: Object,
    programs: Path,
    folder: Path,
    *,
    late: float = 0,
    named: bool = True,
    image: Mapping[str, str] = IMAGE,
    stand_in: Path | None = STAND_IN,
) -> Iterator[Group]:
    """Run a group with the programs of one folder; at the end no process is left, and so no namespace.

    The leader's containers start `late` seconds after the workers', or before them if that is negative; its
    name is in DNS unless not `named`.
    `image` has the variables of the image; without `stand_in` the programs have the engine itself.
    """
    records = folder / "records.json"
    records.write_text(json.dumps(leader_record(lws) if named else {}))
    command = netns.switch(sys.executable, "-m", "tests.ray.dns", str(records))
    switch = spawn("switch", command, folder / "switch.log")
    group = Group(lws, programs, folder, late, image, stand_in, switch)
    try:
        until(lambda: "ready" in tail(group.switch), "the name server answers")
        _create_pods(group)
        yield group
    finally:
        _delete_pods(group)
        kill(group.switch)


def publish(group: Group) -> None:
    """Put the leader's name into DNS."""
    unfinished = group.folder / "records.unfinished"
    unfinished.write_text(json.dumps(leader_record(group.lws)))
    unfinished.rename(group.folder / "records.json")


def recorded(group: Group, *, seconds: float = 3 * PATIENCE) -> dict[str, Any]:
    """Wait until the stand-in has run on the leader, and return what it wrote.

    A group whose nodes time out is recreated, as LWS does after a pod failed.
    """
    file = group.folder / group.pods[0].name / "tmp" / "record.json"
    for _ in range(STARTS):
        until(
            lambda: file.exists() or not alive(group.pods[0]) or _timed_out(group),
            f"the engine runs{said(group)}",
            seconds=seconds,
        )
        if file.exists() or not restarted(group):
            break
    assert file.exists(), f"the leader ended without it{said(group)}"
    record: dict[str, Any] = json.loads(file.read_bytes())
    return record


def restarted(group: Group) -> bool:
    """Recreate a group if a node timed out; return whether it did."""
    if timed_out := _timed_out(group):
        _delete_pods(group)
        _create_pods(group)
    return timed_out


def _timed_out(group: Group) -> bool:
    """Return whether a node timed out; a leader goes on logging until its processes are gone."""
    return any(TIMED_OUT in tail(pod, LOG_LIMIT) for pod in group.pods)


def end(group: Group) -> None:
    """End the pods of a group before its block does: idle nodes of Ray delay others that start."""
    _delete_pods(group)


def ended(process: Process, *, seconds: float = 2 * PATIENCE) -> int:
    """Wait until a pod's engine container ends, and give its exit status."""
    until(lambda: not alive(process), f"{process.name} ends: {tail(process)}", seconds=seconds)
    return process.popen.returncode


def said(group: Group) -> str:
    """Return what the pods said, to be read where a test fails."""
    return "".join(f"\n--- {pod.name}\n{tail(pod)}" for pod in group.pods)


def _create_pods(group: Group) -> None:
    for rank, pod in enumerate(pods(group.lws)):
        group.pods += (_start(pod, group, max(0, -group.late if rank else group.late)),)


def _delete_pods(group: Group) -> None:
    """Kill the pods, and delete their files and logs."""
    for process in reversed(group.pods):
        kill(process)
        process.logger.join()
        process.log.unlink(missing_ok=True)
        shutil.rmtree(group.folder / process.name, ignore_errors=True)
    group.pods = ()


def _start(pod: Pod, group: Group, late: float) -> Process:
    own = group.folder / pod.name
    _write_files(pod, own, group.stand_in)
    path = f"{group.image['HOME']}/bin:{group.programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    described = asdict(pod) | {"image": {**group.image, "PATH": path}, "folder": str(own), "late": late}
    (own / "pod.json").write_text(json.dumps(described))
    command = netns.pod(
        pod.address, group.switch.pid, sys.executable, "-m", "tests.ray.pod", str(own / "pod.json")
    )
    return spawn(pod.name, command, group.folder / f"{pod.name}.log")


def _write_files(pod: Pod, own: Path, stand_in: Path | None) -> None:
    """Write what the pod sees at /etc and /tmp; the stand-in is /tmp/bin/vllm."""
    (own / "tmp" / "bin").mkdir(parents=True)
    hosts = f"127.0.0.1 localhost\n{pod.address} {pod.name}\n"
    for name, text in (FILES | {"hosts": hosts}).items():
        (own / name).write_text(text)
    if stand_in:
        program = own / "tmp" / "bin" / "vllm"
        program.write_text(f"#!/usr/bin/env python3\n{stand_in.read_text()}")
        program.chmod(0o755)
