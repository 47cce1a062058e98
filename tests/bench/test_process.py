"""CPU and memory of any process are read from the kernel."""

import os
import subprocess
import sys
import time

import pytest

from tests.bench.process import cpu_seconds, memory

LARGE = "import sys; held = bytearray(40 * 2**20); print('held', flush=True); sys.stdin.read()"


def test_the_clock_of_a_process_is_its_user_and_system_time() -> None:
    before, ours = cpu_seconds(os.getpid()), time.process_time()
    sum(range(2_000_000))

    assert cpu_seconds(os.getpid()) - before == pytest.approx(time.process_time() - ours, rel=0.05)


def test_memory_is_that_of_another_process_too() -> None:
    command = [sys.executable, "-c", LARGE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()

        assert 40 <= memory(process.pid) <= memory(process.pid, "VmHWM") <= 80
        process.kill()
