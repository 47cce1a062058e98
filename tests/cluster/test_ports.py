"""Ports of the testbed: nobody else's, now or later."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.cluster.testbed.ports import BLOCKS, SIZE, free_ports

ROOT: Final = Path(__file__).parents[2]
TAKEN: Final = "from tests.cluster.testbed.ports import free_ports; print(free_ports('a')['a'])"


def test_no_port_comes_back_soon() -> None:
    first, second = (set(free_ports("abc").values()) for _ in range(2))

    assert (len(first), len(second), first & second) == (3, 3, set())


def test_they_lie_below_those_of_clients() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])

    assert BLOCKS[-1] + SIZE <= lowest


def test_another_process_has_others() -> None:
    ours = free_ports("a")["a"]

    theirs = subprocess.check_output((sys.executable, "-c", TAKEN), cwd=ROOT, text=True)

    assert ours // SIZE != int(theirs) // SIZE
