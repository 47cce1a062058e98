"""Run the pods of a group, each in a network namespace, on a switch with a name server of the group's own."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from intent import Object
from tests import netns
from tests.cluster.testbed.processes import Process, alive, kill, spawn, tail
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


@dataclass(frozen=True, slots=True)
class Group:
    """A group that runs: its pods in order of rank, and where their files are."""

    lws: Object
    folder: Path
    switch: Process
    pods: tuple[Process, ...]


@contextmanager
def running(
    lws: Object, programs: Path, folder: Path, *, late: float = 0, named: bool = True
) -> Iterator[Group]:
    """Run a group with the programs of one folder; at the end no process is left, and so no namespace.

    The leader's containers start `late` seconds after the workers'; its name is in DNS unless not `named`.
    """
    records = folder / "records.json"
    records.write_text(json.dumps(leader_record(lws) if named else {}))
    command = netns.switch(sys.executable, "-m", "tests.ray.dns", str(records))
    processes = [spawn("switch", command, folder / "switch.log")]
    try:
        until(lambda: "ready" in tail(processes[0]), "the name server answers")
        for rank, pod in enumerate(pods(lws)):
            processes.append(_start(pod, processes[0].pid, programs, folder, 0 if rank else late))
        yield Group(lws, folder, processes[0], tuple(processes[1:]))
    finally:
        for process in reversed(processes):
            kill(process)


def publish(group: Group) -> None:
    """Put the leader's name into DNS."""
    unfinished = group.folder / "records.unfinished"
    unfinished.write_text(json.dumps(leader_record(group.lws)))
    unfinished.rename(group.folder / "records.json")


def recorded(group: Group, *, seconds: float = 150) -> dict[str, Any]:
    """Wait until the stand-in has run on the leader, and give what it wrote."""
    file = group.folder / group.pods[0].name / "tmp" / "record.json"
    until(lambda: file.exists() or not alive(group.pods[0]), f"the engine runs{said(group)}", seconds=seconds)
    assert file.exists(), f"the leader ended without it{said(group)}"
    record: dict[str, Any] = json.loads(file.read_bytes())
    return record


def ended(process: Process, *, seconds: float = 90) -> int:
    """Wait until a pod's engine container ends, and give its exit status."""
    until(lambda: not alive(process), f"{process.name} ends: {tail(process)}", seconds=seconds)
    return process.popen.returncode


def said(group: Group) -> str:
    """Return what the pods said, to be read where a test fails."""
    return "".join(f"\n--- {pod.name}\n{tail(pod)}" for pod in group.pods)


def _start(pod: Pod, switch: int, programs: Path, folder: Path, late: float) -> Process:
    own = folder / pod.name
    _write_files(pod, own)
    image = IMAGE | {"PATH": f"{IMAGE['HOME']}/bin:{programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    described = asdict(pod) | {"image": image, "folder": str(own), "late": late}
    (own / "pod.json").write_text(json.dumps(described))
    command = netns.pod(pod.address, switch, sys.executable, "-m", "tests.ray.pod", str(own / "pod.json"))
    return spawn(pod.name, command, folder / f"{pod.name}.log")


def _write_files(pod: Pod, own: Path) -> None:
    """Write what the pod sees at /etc and /tmp; the stand-in is /tmp/bin/vllm."""
    (own / "tmp" / "bin").mkdir(parents=True)
    hosts = f"127.0.0.1 localhost\n{pod.address} {pod.name}\n"
    for name, text in (FILES | {"hosts": hosts}).items():
        (own / name).write_text(text)
    program = own / "tmp" / "bin" / "vllm"
    program.write_text(f"#!/usr/bin/env python3\n{STAND_IN.read_text()}")
    program.chmod(0o755)
