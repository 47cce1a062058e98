"""Sequences of objects that name InferenceTemplates, which are edited, deleted and hidden meanwhile."""

from dataclasses import replace
from random import Random
from typing import Final

from tests.laws.convergence.files import TEMPLATE_CHANGES, changed
from tests.laws.convergence.templates import LIBRARIES, TEMPLATES
from tests.laws.convergence.walk import Sequence, Step, draw

ONE_CONTAINER: Final = ("", "base")
"""Templates without a container of their own, where another webhook is called before ours.

That webhook changes the containers that it sees, and sees those of templates on an update only.
"""


def draw_templated(random: Random) -> Sequence:
    """Draw a sequence of an object that names templates, which change meanwhile."""
    sequence = draw(random)
    allowed = ONE_CONTAINER if sequence.other == "before" else TEMPLATE_CHANGES["refs"]
    file = replace(
        sequence.file,
        opted_in=True,
        refs=random.choice(allowed[1:]),
        zeros=random.random() < 0.2,
        thin=random.random() < 0.3,
    )
    now, drawn = file, list[Step]()
    for step in sequence.steps:
        if random.random() < 0.3:
            drawn.append(Step(TEMPLATES, "become", random.choice(sorted(LIBRARIES))))
        if random.random() < 0.3:
            name = random.choice(sorted(TEMPLATE_CHANGES.keys() - {"empty"}))
            value = random.choice(allowed if name == "refs" else TEMPLATE_CHANGES[name])
            if changed(now, name, value) != now:
                now = changed(now, name, value)
                drawn.append(Step(sequence.tool, name, value))
        drawn.append(step)
    found = with_empty(random, Sequence(file, sequence.tool, sequence.other, tuple(drawn)))
    return with_variable(found) if random.random() < 0.3 else found


def with_empty(random: Random, sequence: Sequence) -> Sequence:
    """Have some authors write empty maps from the beginning, and some later."""
    drawn = list(sequence.steps)
    if random.random() < 0.5:
        drawn.insert(random.randint(0, len(drawn)), Step(sequence.tool, "empty", True))
    file = replace(sequence.file, empty=random.random() < 0.4)
    return replace(sequence, file=file, steps=tuple(drawn))


def with_variable(sequence: Sequence) -> Sequence:
    """Have an author write a variable that templates have too, and apply the file again."""
    file = sequence.file
    file = replace(file, worker=replace(file.worker, env=(("LOG", "debug"),)))
    return replace(sequence, file=file, steps=(Step(sequence.tool, "the same file"), *sequence.steps))


def drawn_templated(seed: int, number: int) -> Sequence:
    """Return one sequence of a seed."""
    return draw_templated(Random(f"templates/{seed}/{number}"))  # noqa: S311 - examples
