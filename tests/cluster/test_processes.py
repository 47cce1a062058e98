"""Processes of the testbed: bounded logs, and none left behind."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.testbed import processes
from tests.cluster.testbed.processes import kill, spawn, stop, tail
from tests.cluster.testbed.wait import until

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(60)
"""
PARENT = """
import sys, time
from pathlib import Path
from tests.cluster.testbed.processes import spawn
print(spawn("child", ["sleep", "60"], Path(sys.argv[1])).pid, flush=True)
time.sleep(60)
"""


def test_a_log_is_bounded_and_its_end_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LOG_LIMIT", 100_000)
    loud = "for i in range(100_000): print(i)"

    process = spawn("loud", [sys.executable, "-c", loud], tmp_path / "loud.log")
    process.popen.wait()
    process.logger.join()

    kept = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert (kept <= 200_000, tail(process).split()[-1]) == (True, "99999")


def test_a_process_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    process = spawn("stubborn", [sys.executable, "-c", STUBBORN], tmp_path / "stubborn.log")
    until(lambda: "up" in tail(process), "it ignores SIGTERM")

    status = stop(process, grace=0.1)

    assert status == -signal.SIGKILL


def test_killing_a_process_that_ended_is_no_error(tmp_path: Path) -> None:
    process = spawn("short", ["true"], tmp_path / "short.log")
    process.popen.wait()

    kill(process)

    assert process.popen.returncode == 0


@pytest.mark.skipif(not processes.dies_with_us(), reason="needs setpriv of util-linux")
def test_a_process_ends_with_a_test_run_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path / "child.log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        until(lambda: Path(f"/proc/{child}/comm").read_text() == "sleep\n", "the child runs")

        parent.kill()

    assert until(lambda: not is_there(child), "the child is gone")


def is_there(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
