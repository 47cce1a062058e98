"""What the probes of a group say while a pod is late, and after one was killed: `make soak SOAK=engines`."""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.testbed.processes import alive, kill
from tests.engines import answers
from tests.engines.cells import SECONDS, begun, expected
from tests.engines.matrix import FIRST, Cell
from tests.ray.running import Group
from tests.soak import SUMMARY

LATE: Final = 60
"""Seconds between the two pods."""
WATCHED: Final = 150
"""Seconds after a pod was killed; Ray gives a leader that is gone 60."""
ANSWERED: Final = 400
"""Seconds for a request to the group that is left; vLLM gives a step 300."""
PROBE: Final = 1.0
"""Seconds for an answer, as the kubelet's probes have."""
LEADER, WORKER = 0, 1
NAMES: Final = ("leader", "worker")
STAYS, ENDS, SERVES = "no answer", "ended with 0", "200"
LEFT: Final = {
    ("vllm-native", LEADER): STAYS,
    ("vllm-native", WORKER): SERVES,
    ("ray-symmetric", LEADER): ENDS,
    ("ray-symmetric", WORKER): ENDS,
    ("ray-start", LEADER): "ended with 1",
    ("ray-start", WORKER): ENDS,
    ("sglang", LEADER): ENDS,
    ("sglang", WORKER): ENDS,
}
"""By launcher, and by the pod that was killed: what is left of the other one, without a request."""


@pytest.mark.parametrize("killed", [LEADER, WORKER], ids=NAMES)
@pytest.mark.parametrize("cell", FIRST, ids=lambda one: one.title)
def test_a_group_starts_in_each_order_and_what_is_left_of_it_is_known(
    cell: Cell, killed: int, tmp_path: Path
) -> None:
    with begun(cell, tmp_path, late=LATE if killed else -LATE) as there:
        ((_, port),) = places = expected(there)
        pods, left = there.pods, 1 - killed

        def ready() -> bool:
            return answers.ask(there, (LEADER, port), "/health")[0] == 200 or not all(map(alive, pods))

        watch(there, port, ready, SECONDS, f"{cell.title}, {NAMES[left]} last")
        assert len(answers.texts(there, places, 1)) == 1
        kill(pods[killed])
        title = f"{cell.title}, {NAMES[killed]} killed"
        found = watch(there, port, lambda: not alive(pods[left]), WATCHED, title)[left]
        assert found == LEFT[cell.launcher, killed]
        if found == SERVES:
            with ThreadPoolExecutor(1) as thread:
                asked = thread.submit(request, there, port, title)
                watch(there, port, lambda: not alive(pods[left]), ANSWERED, title)
            assert (asked.result(), alive(pods[left])) == (500, False)


def watch(there: Group, port: int, over: Callable[[], bool], seconds: float, title: str) -> dict[int, str]:
    """Say each change of what a pod answers to the probe, until it is over; return what came last."""
    began, last, ends = time.monotonic(), dict[int, str](), False
    while not ends and time.monotonic() - began < seconds:
        ends = over()
        for rank, pod in enumerate(there.pods):
            status = alive(pod) and answers.ask(there, (rank, port), "/health", seconds=PROBE)[0]
            now = str(status or STAYS) if alive(pod) else f"ended with {pod.popen.returncode}"
            if last.get(rank) != now:
                last[rank] = now
                told = f"{title}: {NAMES[rank]} {now} after {time.monotonic() - began:.0f} s"
                sys.stdout.write(f"\n{SUMMARY}{told}\n")
        time.sleep(1)
    return last


def request(there: Group, port: int, title: str) -> int:
    """Ask for a completion; return the status."""
    began, body = time.monotonic(), {"prompt": answers.PROMPT, "max_tokens": answers.WORDS}
    status, _ = answers.ask(there, (LEADER, port), "/v1/completions", body, seconds=ANSWERED)
    sys.stdout.write(f"\n{SUMMARY}{title}: a request {status} after {time.monotonic() - began:.0f} s\n")
    return status
