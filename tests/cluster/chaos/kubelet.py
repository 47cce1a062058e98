"""Starts again what has ended, as a kubelet does, and ends what chaos chooses, as nodes do.

It is called from the main thread: a process ends with the thread that started it (`processes.dies_with_us`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import start_again
from tests.cluster.testbed.processes import alive, kill, tail

AWAY: Final = 0.5
"""Seconds from the end of a process to its next start."""
EVERY: Final = 0.05


@dataclass(slots=True)
class Kubelet:
    """The processes of a cluster, and when those that ended are started again."""

    cluster: Cluster
    due: dict[str, float] = field(default_factory=dict)
    crashes: list[str] = field(default_factory=list)
    """Processes that ended with an error of their own, each with the end of its log."""

    def tend(self) -> None:
        """Start again what ended a while ago."""
        for name in [name for name, process in self.cluster.processes.items() if not alive(process)]:
            if name not in self.due and self.cluster.processes[name].popen.returncode > 0:
                self.crashes.append(f"{name} ended: {tail(self.cluster.processes[name], 1000)}")
            if time.monotonic() >= self.due.setdefault(name, time.monotonic() + AWAY):
                del self.due[name]
                start_again(self.cluster, name)

    def kill(self, name: str) -> None:
        """End a process with SIGKILL; it may have ended by itself just now."""
        kill(self.cluster.processes[name])

    def tend_until(self, check: Callable[[], bool], seconds: float) -> bool:
        """Tend until something is true, or time is up; whether it is true."""
        deadline = time.monotonic() + seconds
        while not (done := check()) and time.monotonic() < deadline:
            self.tend()
            time.sleep(EVERY)
        return done
