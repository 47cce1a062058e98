"""Sequences of a seed on the real API server, several at once, and what they showed.

CONVERGENCE_SEED is the seed; CONVERGENCE_ONLY="N ..." has the numbers of sequences to repeat.
"""

import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from tests.builders.lws import lws, put
from tests.cluster.convergence.lockstep import Result, repeat
from tests.cluster.convergence.servers import Servers
from tests.laws.convergence.walk import Sequence
from tests.soak import SUMMARY
from tests.tiers import WHOLE, count
from webhook.check import check

SEED: Final = int(os.environ.get("CONVERGENCE_SEED", "1"))
TOGETHER: Final = 2
"""How many sequences run at once."""


def numbers(few: Collection[int]) -> Collection[int]:
    """Return which sequences of the seed run: a few, in the soak all up to a count, or those asked for."""
    if asked := os.environ.get("CONVERGENCE_ONLY"):
        return [int(one) for one in asked.split()]
    return range(count("CONVERGENCE_REAL")) if WHOLE else few


def results(servers: Servers, sequences: Iterable[tuple[int, Sequence]]) -> list[Result]:
    """Run numbered sequences, and print what they showed. Those with templates share a library."""
    check(put(lws()))  # msgspec builds a type when it is first used, and breaks in two threads at once
    with ThreadPoolExecutor(1 if servers.library else TOGETHER) as pool:
        found = list(pool.map(lambda one: repeat(servers, *one), sequences))
    sys.stdout.write("".join(f"\n{SUMMARY}{line}" for line in _summary(found)))
    return found


def fail_if_any(wrong: list[Result]) -> None:
    """Fail with the whole sequences, and with how to repeat each."""
    if wrong:
        texts = [f"CONVERGENCE_SEED={SEED} CONVERGENCE_ONLY={one}" for one in wrong]
        pytest.fail("\n\n".join(texts), pytrace=False)


def _summary(found: list[Result]) -> Iterator[str]:
    """Yield what the sequences were made of."""
    outcomes = Counter(outcome for one in found for _, outcome in one.steps)
    yield f"convergence on the real API server, seed {SEED}: {len(found)} sequences"
    counts = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
    yield f"{outcomes.total()} steps: {counts}\n"
