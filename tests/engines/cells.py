"""Run the group of a cell, and judge what it answers.

A pod is a process in a network namespace, with LWS's variables, as in `tests/ray`. Its words and variables
are those of the expanded object. The models are tiny and their weights random, so that texts mean nothing;
the same text on all ports shows that all have the same weights.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from intent import Object
from intent.annotations import EXPANSION
from intent.served import recorded
from tests.cluster.testbed.processes import alive
from tests.cluster.testbed.wait import until
from tests.engines import answers
from tests.engines.install import install
from tests.engines.matrix import Cell, group
from tests.engines.model import write
from tests.ray.running import IMAGE, Group, running, said
from tests.soak import SUMMARY
from webhook.expand import expanded

PLATFORM: Final = Path(__file__).with_name("platform")
SECONDS: Final = 1800.0
"""A pod is ready within 60 to 160 s on two idle cores, within 800 s beside seven other suites."""
NICE: Final = 5
"""Of the pods, which give way to the test; where the kernel groups sessions, of their groups too."""
VARIABLES: Final = {
    **IMAGE,
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "RAY_memory_monitor_refresh_ms": "0",  # else Ray ends ranks when the whole machine has little left
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
}


@contextmanager
def begun(
    cell: Cell, folder: Path, harm: Callable[[Object], Object] = lambda one: one, late: float = 0
) -> Iterator[Group]:
    """Start the group of a cell, as admission leaves it, or harmed after that; its leader may be late."""
    programs = install(cell.release, sys.stderr)
    written = expanded(group(cell, str(write(cell.shape.model, programs.parent / "models"))))
    assert f'"launcher":"{cell.launcher}"' in written["metadata"]["annotations"][EXPANSION]
    platform = {"PYTHONPATH": str(PLATFORM)} if cell.lifted else {"VLLM_PLUGINS": ""}
    cache = dict.fromkeys(("VLLM_CACHE_ROOT", "TORCHINDUCTOR_CACHE_DIR"), str(programs.parent / "cache"))
    image = VARIABLES | cache | platform | dict(cell.release.variables)
    with running(harm(written), programs, folder, late=late, image=image, stand_in=None) as there:
        for pod in there.pods:
            os.setpriority(os.PRIO_PGRP, pod.pid, NICE)
            with suppress(OSError):
                Path(f"/proc/{pod.pid}/autogroup").write_text(str(NICE))
        try:
            yield there
        except BaseException:
            for pod in there.pods:
                os.link(pod.log, folder / f"failed-{pod.log.name}")
            raise


def expected(there: Group) -> set[answers.Place]:
    """Return the pods and ports that serve, as the record tells the controller."""
    served = recorded(there.lws["metadata"]["annotations"][EXPANSION])
    ranks = range(len(there.pods)) if served.serving.everywhere else (0,)
    return {(rank, port) for rank in ranks for port in served.serving.ports or (served.port,)}


def ran(cell: Cell, folder: Path) -> float:
    """Run a cell, and say what it took; return after how many seconds it was ready."""
    began = time.monotonic()
    with begun(cell, folder) as there:
        ready = answered(there, cell) - began
        where = sorted(expected(there))
        sys.stdout.write(
            f"\n{SUMMARY}{cell.title}: runs; ready after {ready:.0f} s, answers after "
            f"{time.monotonic() - began:.0f} s from {where}, {answers.memory(there)} MB\n"
        )
    return ready


def heard(there: Group, words: str) -> None:
    """Wait until a pod says these words; once one has ended, the others have little time for it."""

    def is_said() -> bool:
        return words in answers.logs(there)

    with suppress(TimeoutError):
        until(lambda: is_said() or not all(map(alive, there.pods)), words, seconds=SECONDS, every=1)
        until(is_said, words, every=1)
    assert is_said(), f"nobody says {words!r}{said(there)}"


def answered(there: Group, cell: Cell, seconds: float = SECONDS) -> float:
    """Return when the group was ready; raise unless all places answer, with all ranks, and no other does."""
    places = expected(there)
    answers.become_ready(there, places, seconds)
    ready = time.monotonic()
    texts = answers.texts(there, places, 2 * cell.shape.engines)
    assert all(map(alive, there.pods)), f"a pod ended{said(there)}"
    assert answers.servers(there) == places
    assert len(texts) == 1, texts
    assert not answers.alone(there), f"a pod has joined no other{said(there)}"
    assert {*answers.computing(there)} == {cell.shape.gpus}, f"a pod has other ranks{said(there)}"
    made = {place: answers.generated(there, place) for place in places}
    assert all(len(each) == cell.shape.engines and all(each) for each in made.values()), made
    return ready
