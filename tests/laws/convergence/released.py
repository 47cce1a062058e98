"""Sequences in which releases change, and writes bypass the webhooks or come from older expanded files."""

from dataclasses import replace
from random import Random
from typing import Final

from tests.laws.convergence.clients import TOOLS
from tests.laws.convergence.releases import RELEASE, RELEASES
from tests.laws.convergence.walk import STALE, Sequence, Step, draw

BYPASS: Final = "bypass"


def draw_released(random: Random, *kinds: str) -> Sequence:
    """Draw a sequence in which releases change; `kinds` are what happens too: `BYPASS`, `STALE`."""
    sequence, drawn = draw(random), list[Step]()
    for at, step in enumerate(sequence.steps):
        kind = random.choice(("", RELEASE, *kinds))
        if kind == RELEASE:
            drawn.append(Step(RELEASE, "becomes", random.choice(sorted(RELEASES))))
        if kind == STALE:
            drawn.append(Step(STALE, "replace", random.randint(0, at)))
        drawn.append(replace(step, bypasses=kind == BYPASS and step.client in TOOLS))
        if random.random() < 0.3:
            drawn.append(Step(sequence.tool, "the same file"))
        if random.random() < 0.15:
            drawn.append(Step(sequence.tool, "refresh", str(at)))
    return replace(sequence, steps=tuple(drawn))


def drawn_released(seed: int, number: int) -> Sequence:
    """Return one sequence of a seed."""
    return draw_released(Random(f"released/{seed}/{number}"))  # noqa: S311 - examples


def drawn_bypassed(seed: int, number: int) -> Sequence:
    """Return one sequence of a seed."""
    return draw_released(Random(f"bypassed/{seed}/{number}"), BYPASS)  # noqa: S311 - examples


def drawn_stale(seed: int, number: int) -> Sequence:
    """Return one sequence of a seed."""
    return draw_released(Random(f"stale/{seed}/{number}"), STALE)  # noqa: S311 - examples
