"""Sequences of a seed on the real API server, several at once, and what they showed."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.builders.lws import lws, put
from tests.cluster.convergence.lockstep import Result, repeat
from tests.cluster.convergence.servers import Servers
from tests.laws.convergence.walk import Sequence
from webhook.check import check

TOGETHER: Final = 2
"""How many sequences run at once."""


def results(servers: Servers, sequences: Iterable[tuple[int, Sequence]]) -> Iterator[Result]:
    """Yield the results of numbered sequences, in their order. Those with templates share a library."""
    check(put(lws()))  # msgspec builds a type when it is first used, and breaks in two threads at once
    with ThreadPoolExecutor(1 if servers.library else TOGETHER) as pool:
        yield from pool.map(lambda one: repeat(servers, *one), sequences)


def summary(seed: int, found: list[Result]) -> Iterator[str]:
    """Yield the lines of the summary."""
    differing = [one.number for one in found if one.differences]
    violating = [one.number for one in found if one.violation]
    yield f"convergence on the real API server, seed {seed}: {len(found)} sequences"
    yield f"{len(violating)} violate a law{_numbers(violating)}"
    yield f"{len(differing)} differ from the simulation{_numbers(differing)}"
    outcomes = Counter(outcome for one in found for _, outcome in one.steps)
    clients = Counter(step.partition(": ")[0] for one in found for step, _ in one.steps)
    yield f"{outcomes.total()} steps: {_counted(outcomes)}"
    yield f"by client: {_counted(clients)}"
    yield f"by law: {_counted(Counter(one.violation.partition(': ')[0] for one in found if one.violation))}"


def told(found: Iterable[Result], say: Callable[[str], object], every: int = 10) -> list[Result]:
    """Report results as they come: sequences that differ or violate a law, and every tenth number."""
    known = []
    for one in found:
        known.append(one)
        if one.differences or one.violation:
            say(f"{one}\n\n")
        if len(known) % every == 0:
            say(f"{len(known)} sequences\n")
    return known


def _numbers(numbers: list[int]) -> str:
    return f" ({', '.join(map(str, numbers))})" if numbers else ""


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counter.most_common()) or "none"
