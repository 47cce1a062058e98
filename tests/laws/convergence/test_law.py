"""Drawn sequences of writes violate no law.

`python -m tests.laws.convergence --seed S --only N` repeats sequence N of a seed, and shrinks it.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.laws.convergence.templated import drawn_templated
from tests.laws.convergence.walk import Sequence, drawn, run

SEQUENCES = 125


def violations(seed: int, sequences: int, draw: Callable[[int, int], Sequence] = drawn) -> Iterator[str]:
    """Yield the violations of the first sequences of a seed, each with the options that repeat it."""
    for number in range(sequences):
        sequence = draw(seed, number)
        for found in run(sequence).violations:
            steps = sequence.up_to(found.step)
            yield f"--seed {seed} --only {number}: {found.law}: {found.detail}\n{steps}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_stored_object_is_the_expansion_of_the_author_s(seed: int) -> None:
    assert list(violations(seed, SEQUENCES)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_so_with_templates_that_change(seed: int) -> None:
    assert list(violations(seed, SEQUENCES, drawn_templated)) == []
