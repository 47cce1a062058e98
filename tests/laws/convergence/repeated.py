"""Sequences in which a file has what admission injected: the program, a launch, or the scheduler.

These values are the author's, although admission wrote the same: they stay when the annotations go.
"""

from dataclasses import replace
from random import Random
from typing import Final

from tests.laws.convergence.files import changed
from tests.laws.convergence.walk import Sequence, Step, draw

LAUNCHERS: Final = ("vllm-native", "vllm-native", "ray-symmetric", "auto", "none")


def draw_repeated(random: Random) -> Sequence:
    """Draw a sequence in which a file has what was injected, and then loses the annotations."""
    sequence = draw(random)
    file = replace(sequence.file, launcher=random.choice(LAUNCHERS), opted_in=True, parallelism="", source="")
    file = changed(changed(changed(file, "form", "args"), "image", "vllm/vllm-openai:v0.17.1"), "size", 2)
    form = random.choice(("serve", "serve", "by hand"))
    more = [
        Step(sequence.tool, *random.choice((("form", form), ("scheduler", "volcano")))),
        random.choice((Step(sequence.tool, "launcher", "none"), Step(sequence.tool, "the same file"))),
        random.choice((Step(sequence.tool, "opted_in", value=False), Step("edit", "opt out"))),
        Step(sequence.tool, "the same file"),
    ]
    drawn = list(sequence.steps)
    for at in sorted(random.sample(range(len(drawn) + len(more)), len(more))):
        drawn.insert(at, more.pop(0))
    return replace(sequence, file=file, steps=tuple(drawn))


def drawn_repeated(seed: int, number: int) -> Sequence:
    """Return one sequence of a seed."""
    return draw_repeated(Random(f"repeated/{seed}/{number}"))  # noqa: S311 - examples
